/* text/grammar/schema_lists.c - objects and arrays of JSON schemas. Properties come in the schema's order. */
#include "text/grammar/schema_names.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- objects ---- */

static int32_t as_rule(tsri_text_schema *s, int32_t expression, const char *name) {
    tsri_text_tree *t = s->json.tree;
    const int32_t rule = tsri_text_rule_new(t, name, strlen(name));
    tsri_text_rule_set(t, rule, expression);
    return tsri_text_call(t, rule);
}

/* What an object is made of while it is read. */
typedef struct members {
    int32_t *items; /* [n] calls of rules */
    bool *needed;   /* [n] */
    size_t n, n_needed;
    int32_t further; /* a further property; 0: none */
} members;

static void add_member(tsri_text_schema *s, members *m, const char *name, const json_t *schema,
                       bool needed) {
    const int32_t value = tsri_text_schema_part(s, "properties", name, schema);
    m->items[m->n] = as_rule(
        s, tsri_text_json_pair(&s->json, tsri_text_name_literal(s->json.tree, name), value), name);
    m->needed[m->n++] = needed;
    m->n_needed += needed;
}

/* The members from each one on: behind others, and as the first. A rule each, so that the automaton grows with
 * their number and no faster. *first never matches the empty text; if nothing is needed, *none says so. */
static int32_t chain(tsri_text_schema *s, const members *m) {
    tsri_text_tree *t = s->json.tree;
    const int32_t comma = tsri_text_json_comma(&s->json);
    int32_t rest = tsri_text_literal(t, "", 0), first = tsri_text_class(t, NULL, 0, false);
    if (m->further) {
        rest = tsri_text_repeat(t, tsri_text_sequence(t, comma, m->further), 0, -1);
        first = tsri_text_sequence(t, m->further, rest);
    }
    for (size_t i = m->n; i-- > 0;) {
        const int32_t begin = tsri_text_sequence(t, m->items[i], rest);
        int32_t behind = tsri_text_sequence(t, comma, begin);
        first = m->needed[i] ? begin : tsri_text_choice(t, begin, first);
        if (!m->needed[i])
            behind = tsri_text_choice(t, behind, rest);
        rest = as_rule(s, behind, "further properties");
        first = as_rule(s, first, "properties");
    }
    return first;
}

/* An object with the names of a list; NULL: it is not a list of texts without a 0 byte. */
static json_t *names_of(const json_t *list) {
    json_t *names = list && !json_is_array(list) ? NULL : json_object();
    for (size_t i = 0; i < json_array_size(list) && names; i++) {
        const char *name = tsri_text_schema_word(json_array_get(list, i));
        if (name) {
            json_object_set_new(names, name, json_true());
        } else {
            json_decref(names);
            names = NULL;
        }
    }
    return names;
}

static int32_t finish_object(tsri_text_schema *s, const json_t *schema, const members *m) {
    tsri_text_tree *t = s->json.tree;
    const int32_t least = tsri_text_schema_count(s, schema, "minProperties", 0),
                  most = tsri_text_schema_count(s, schema, "maxProperties", -1);
    int32_t content;
    if (m->further && !m->n) {
        if (most == 0 || (most > 0 && most < least))
            content = tsri_text_class(t, NULL, 0, false);
        else
            content = tsri_text_json_list(&s->json, m->further, least > 1 ? least : 1, most);
    } else {
        if ((size_t)least > m->n_needed && (least > 1 || (most >= 0 && (size_t)most < m->n)))
            return tsri_text_schema_fail(
                s, TSR_E_UNSUPPORTED,
                "\"minProperties\" above 1 and above the number of required "
                "properties is not served");
        if (most >= 0 && ((size_t)most < m->n || m->further))
            return tsri_text_schema_fail(s, TSR_E_UNSUPPORTED,
                                         "\"maxProperties\" beside \"properties\" is not served");
        content = chain(s, m);
    }
    if (!m->n && !m->further)
        return tsri_text_sequence(
            t, tsri_text_sequence(t, tsri_text_word(t, "{"), tsri_text_json_space(&s->json)),
            tsri_text_word(t, "}"));
    return tsri_text_json_enclosed(&s->json, '{', content, '}', !m->n_needed && least < 1);
}

static int32_t fail_required(tsri_text_schema *s, const char *name, const char *why) {
    return tsri_text_schema_fail(s, TSR_E_ARGUMENT, "\"%.60s\" is required, but %s", name, why);
}

/* Those of "properties" whose names may be written, and those that are required without being there. */
static void add_members(tsri_text_schema *s, const json_t *further, tsri_text_names *names,
                        members *m) {
    const json_t *any = further && !json_is_false(further) ? further : json_true();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)names->properties, name, value) {
        const bool needed = json_object_get(names->required, name);
        const json_t *schema = value;
        if (tsri_text_names_value(names, name, &schema))
            add_member(s, m, name, schema, needed);
        else if (needed)
            fail_required(s, name,
                          "its name may not be written (propertyNames, patternProperties)");
    }
    json_object_foreach((json_t *)names->required, name, value) {
        const json_t *schema = NULL;
        if (json_object_get(names->properties, name))
            continue;
        if (!tsri_text_names_value(names, name, &schema))
            fail_required(s, name,
                          "its name may not be written (propertyNames, patternProperties)");
        else if (!schema && json_is_false(further))
            fail_required(s, name, "is not among \"properties\"");
        else
            add_member(s, m, name, schema ? schema : any, true);
    }
}

static int32_t read_members(tsri_text_schema *s, const json_t *schema, tsri_text_names *names,
                            members *m) {
    const json_t *further = json_object_get(schema, "additionalProperties");
    add_members(s, further, names, m);
    const int32_t pair = tsri_text_names_further(names, further);
    if (pair)
        m->further = as_rule(s, pair, "a further property");
    return finish_object(s, schema, m);
}

int32_t tsri_text_schema_object(tsri_text_schema *s, const json_t *schema) {
    const json_t *properties = json_object_get(schema, "properties");
    json_t *required = names_of(json_object_get(schema, "required"));
    members m = {0};
    tsri_text_names names;
    const size_t most = json_object_size(properties) + json_object_size(required);
    if ((properties && !json_is_object(properties)) || !required) {
        json_decref(required);
        return tsri_text_schema_fail(
            s, TSR_E_ARGUMENT,
            "\"properties\" is an object, and \"required\" a list of texts without a 0 byte");
    }
    tsr_status *status = &s->json.tree->status;
    if (*status == TSR_OK)
        *status = tsri_base_new(most, sizeof *m.items, &m.items);
    if (*status == TSR_OK)
        *status = tsri_base_new(most, sizeof *m.needed, &m.needed);
    tsri_text_names_open(s, schema, required, &names);
    const int32_t all = *status == TSR_OK ? read_members(s, schema, &names, &m) : 0;
    tsri_text_names_close(&names);
    json_decref(required);
    free(m.items);
    free(m.needed);
    return all;
}

/* ---- arrays ---- */

int32_t tsri_text_schema_array(tsri_text_schema *s, const json_t *schema) {
    tsri_text_tree *t = s->json.tree;
    const json_t *items = json_object_get(schema, "items"),
                 *prefix = json_object_get(schema, "prefixItems");
    if (json_is_array(items)) { /* drafts before 2020-12 */
        prefix = items;
        items = json_object_get(schema, "additionalItems");
    }
    const int32_t least = tsri_text_schema_count(s, schema, "minItems", 0),
                  most = tsri_text_schema_count(s, schema, "maxItems", -1);
    const size_t n = most >= 0 && (size_t)most < json_array_size(prefix) ? (size_t)most
                                                                         : json_array_size(prefix);
    /* Behind those of prefixItems no more are written, unless the schema says what they are. */
    const bool more = !json_is_false(items) && (most < 0 || (size_t)most > n) &&
                      (items || !prefix || (size_t)least > n);
    if ((most >= 0 && least > most) || (!more && (size_t)least > n))
        return tsri_text_schema_fail(s, TSR_E_ARGUMENT,
                                     "it has fewer items than \"minItems\" wants");
    if (!n && !more)
        return tsri_text_sequence(
            t, tsri_text_sequence(t, tsri_text_word(t, "["), tsri_text_json_space(&s->json)),
            tsri_text_word(t, "]"));
    int32_t content = tsri_text_literal(t, "", 0), item = 0;
    for (size_t i = 0; i < n; i++) {
        if (i)
            content = tsri_text_sequence(t, content, tsri_text_json_comma(&s->json));
        content = tsri_text_sequence(
            t, content, tsri_text_schema_part(s, "prefixItems", NULL, json_array_get(prefix, i)));
    }
    if (more)
        item = as_rule(s, tsri_text_schema_part(s, "items", NULL, items ? items : json_true()),
                       "an item");
    if (more && n) {
        const int32_t next = tsri_text_sequence(t, tsri_text_json_comma(&s->json), item);
        content = tsri_text_sequence(t, content,
                                     tsri_text_repeat(t, next,
                                                      least > (int32_t)n ? least - (int32_t)n : 0,
                                                      most < 0 ? -1 : most - (int32_t)n));
    } else if (more) {
        content = tsri_text_json_list(&s->json, item, least > 1 ? least : 1, most);
    }
    return tsri_text_json_enclosed(&s->json, '[', content, ']', !n && !least);
}
