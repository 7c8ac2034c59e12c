/* text/grammar/schema_lists.c - objects and arrays of JSON schemas. Properties come in the schema's order. */
#include "text/grammar/schema.h"

#include "base/memory.h"
#include "text/base/unicode.h"

#include <stdlib.h>
#include <string.h>

/* ---- names of further properties ---- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The rest of a name, in quotes, behind `at` bytes that all of names[0 .. n) begin with; the name differs
 * from each of them. A character of it is never escaped, so that no name is spelled in another way. */
static int32_t other_than(tsri_text_schema *s, const char *const *names, size_t n, size_t at) {
    enum { MOST = 64 };
    static const tsri_text_characters escaped[] = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
    tsri_text_tree *t = s->json.tree;
    tsri_text_characters next[MOST + 3] = {escaped[0], escaped[1], escaped[2]};
    const int32_t rest = tsri_text_repeat(t, tsri_text_class(t, escaped, 3, true), 0, -1);
    int32_t all = tsri_text_class(t, NULL, 0, false);
    size_t i = 0, m = 3;
    if (n && !names[0][at])
        i++; /* the name ends here, so another one does not */
    else
        all = tsri_text_literal(t, "", 0);
    while (i < n && t->status == TSR_OK) {
        const char *own = names[i] + at;
        int32_t c;
        const size_t size = tsri_text_utf8_next(own, strlen(own), &c), first = i;
        while (i < n && !strncmp(names[i] + at, own, size))
            i++;
        if (m == MOST + 3)
            return tsri_text_schema_fail(
                s, TSR_E_UNSUPPORTED,
                "further properties beside names that go on with more than %d characters", MOST);
        next[m++] = (tsri_text_characters){c, c};
        all = tsri_text_choice(
            t, all,
            tsri_text_sequence(t, tsri_text_literal(t, own, size),
                               other_than(s, names + first, i - first, at + size)));
    }
    return tsri_text_choice(t, all, tsri_text_sequence(t, tsri_text_class(t, next, m, true), rest));
}

static int32_t other_name(tsri_text_schema *s, const json_t *properties, const json_t *more) {
    const char **names = NULL, *name;
    size_t n = 0, all = json_object_size(properties) + json_object_size(more);
    json_t *value;
    if (!all)
        return tsri_text_json_string(&s->json);
    if (s->json.tree->status == TSR_OK)
        s->json.tree->status = tsri_base_new(all, sizeof *names, &names);
    if (s->json.tree->status != TSR_OK)
        return 0;
    json_object_foreach((json_t *)properties, name, value) names[n++] = name;
    json_object_foreach((json_t *)more, name, value) if (!json_object_get(properties, name))
        names[n++] = name;
    qsort(names, n, sizeof *names, by_text);
    const int32_t other = other_than(s, names, n, 0);
    free(names);
    return tsri_text_json_quoted(&s->json, other);
}

/* ---- objects ---- */

/* A JSON text of a name. */
static int32_t name_of(tsri_text_schema *s, const char *name) {
    json_t *text = json_string(name);
    char *dumped = json_dumps(text, JSON_ENCODE_ANY);
    const int32_t literal = tsri_text_word(s->json.tree, dumped ? dumped : "");
    json_decref(text);
    free(dumped);
    return literal;
}

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
    m->items[m->n] = as_rule(s, tsri_text_json_pair(&s->json, name_of(s, name), value), name);
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

/* An object with the names of a list; NULL: it is not a list of texts. */
static json_t *names_of(const json_t *list) {
    json_t *names = list && !json_is_array(list) ? NULL : json_object();
    for (size_t i = 0; i < json_array_size(list) && names; i++) {
        const char *name = json_string_value(json_array_get(list, i));
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

/* required: an object whose names are those of the list. */
static int32_t read_members(tsri_text_schema *s, const json_t *schema, const json_t *required,
                            members *m) {
    const json_t *properties = json_object_get(schema, "properties"),
                 *further = json_object_get(schema, "additionalProperties");
    const json_t *any = further && !json_is_false(further) ? further : json_true();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)properties, name, value)
        add_member(s, m, name, value, json_object_get(required, name));
    json_object_foreach((json_t *)required, name, value) {
        if (json_object_get(properties, name))
            continue;
        if (json_is_false(further))
            return tsri_text_schema_fail(
                s, TSR_E_ARGUMENT, "\"%.60s\" is required, but is not among \"properties\"", name);
        add_member(s, m, name, any, true);
    }
    if (further ? !json_is_false(further) : !properties) {
        const int32_t pair =
            tsri_text_json_pair(&s->json, other_name(s, properties, required),
                                tsri_text_schema_part(s, "additionalProperties", NULL, any));
        m->further = as_rule(s, pair, "a further property");
    }
    return finish_object(s, schema, m);
}

int32_t tsri_text_schema_object(tsri_text_schema *s, const json_t *schema) {
    const json_t *properties = json_object_get(schema, "properties");
    json_t *required = names_of(json_object_get(schema, "required"));
    members m = {0};
    const size_t most = json_object_size(properties) + json_object_size(required);
    if ((properties && !json_is_object(properties)) || !required) {
        json_decref(required);
        return tsri_text_schema_fail(
            s, TSR_E_ARGUMENT, "\"properties\" is an object, and \"required\" a list of texts");
    }
    tsr_status *status = &s->json.tree->status;
    if (*status == TSR_OK)
        *status = tsri_base_new(most, sizeof *m.items, &m.items);
    if (*status == TSR_OK)
        *status = tsri_base_new(most, sizeof *m.needed, &m.needed);
    const int32_t all = *status == TSR_OK ? read_members(s, schema, required, &m) : 0;
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
