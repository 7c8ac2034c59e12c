/* text/grammar/schema_join.c - joins schemas that both hold (allOf, and what stands beside $ref and anyOf), finds
 * schemas by pointers, and makes rules of those that others refer to. */
#include "text/grammar/schema.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_PAIRS = 1 << 20,
    BESIDE = 4 << 10 /* bytes of a "$ref", and of what stands beside it, that are compared */
};

/* ---- pointers ---- */

/* Reads a name up to the next /, with its escapes. */
static bool read_name(const char **at, char *name, size_t room) {
    size_t n = 0;
    while (**at && **at != '/' && n + 1 < room) {
        char c = *(*at)++;
        if (c == '~' && (**at == '0' || **at == '1'))
            c = *(*at)++ == '0' ? '~' : '/';
        else if (c == '%' && (*at)[0] && (*at)[1]) {
            const char digits[3] = {(*at)[0], (*at)[1], 0};
            char *end;
            c = (char)strtoul(digits, &end, 16);
            if (*end || !c)
                return false;
            *at += 2;
        }
        name[n++] = c;
    }
    name[n] = 0;
    return !**at || **at == '/';
}

const json_t *tsri_text_schema_at(tsri_text_schema *s, const char *pointer) {
    char name[512];
    const json_t *found = *pointer == '#' ? s->root : NULL;
    const char *at = pointer + 1;
    while (found && *at) {
        found = *at++ == '/' && read_name(&at, name, sizeof name)
                    ? json_is_array(found) ? json_array_get(found, (size_t)strtoul(name, NULL, 10))
                                           : json_object_get(found, name)
                    : NULL;
    }
    if (!found)
        tsri_text_schema_fail(
            s, TSR_E_ARGUMENT,
            "\"$ref\" is \"%.100s\", but there is nothing at this place: it begins "
            "with #, as in #/$defs/name",
            pointer);
    return found;
}

json_t *tsri_text_schema_without(tsri_text_schema *s, const json_t *schema, const char *keyword) {
    json_t *rest = json_object(), *value;
    const char *key;
    json_object_foreach((json_t *)schema, key, value) {
        if (strcmp(key, keyword) != 0 && !tsri_text_schema_is_note(key))
            json_object_set(rest, key, value);
    }
    json_array_append_new(s->joined, rest);
    return json_object_size(rest) ? rest : NULL;
}

/* ---- joining ---- */

typedef json_t *join_fn(const json_t *a, const json_t *b);

static json_t *larger(const json_t *a, const json_t *b) {
    return json_copy((json_t *)(json_number_value(a) >= json_number_value(b) ? a : b));
}

static json_t *smaller(const json_t *a, const json_t *b) {
    return json_copy((json_t *)(json_number_value(a) <= json_number_value(b) ? a : b));
}

static bool has(const json_t *list, const json_t *value) {
    bool found = json_equal(list, value);
    for (size_t i = 0; i < json_array_size(list) && !found; i++)
        found = json_equal(json_array_get(list, i), value);
    return found;
}

static json_t *union_of(const json_t *a, const json_t *b) {
    json_t *all = json_copy((json_t *)a);
    for (size_t i = 0; i < json_array_size(b); i++)
        if (!has(all, json_array_get(b, i)))
            json_array_append(all, json_array_get(b, i));
    return all;
}

static json_t *one_or_all(const json_t *list, size_t i) {
    return json_is_array(list) ? json_array_get(list, i) : i ? NULL : (json_t *)list;
}

static json_t *values_of_both(const json_t *a, const json_t *b) {
    json_t *both = json_array(), *one;
    for (size_t i = 0; (one = one_or_all(a, i)); i++)
        if (has(b, one))
            json_array_append(both, one);
    return both;
}

/* A whole number is a number, too. */
static json_t *types_of_both(const json_t *a, const json_t *b) {
    json_t *both = values_of_both(a, b), *whole = json_string("integer"),
           *number = json_string("number");
    if (!has(both, whole) &&
        ((has(a, whole) && has(b, number)) || (has(a, number) && has(b, whole))))
        json_array_append(both, whole);
    json_decref(whole);
    json_decref(number);
    return both;
}

static json_t *concatenated(const json_t *a, const json_t *b) {
    json_t *all = json_copy((json_t *)a);
    json_array_extend(all, (json_t *)b);
    return all;
}

static json_t *as_all_of(const json_t *a, const json_t *b) {
    return json_pack("{s:[O,O]}", "allOf", a, b);
}

static json_t *by_name(const json_t *a, const json_t *b) {
    json_t *all = json_copy((json_t *)a), *value;
    const char *name;
    json_object_foreach((json_t *)b, name, value) {
        const json_t *own = json_object_get(all, name);
        if (!own)
            json_object_set(all, name, value);
        else if (!json_equal(own, value))
            json_object_set_new(all, name, as_all_of(own, value));
    }
    return all;
}

static const struct {
    const char *keyword;
    join_fn *join;
} joins[] = {
    {"type", types_of_both},        {"enum", values_of_both},     {"properties", by_name},
    {"patternProperties", by_name}, {"propertyNames", as_all_of}, {"required", union_of},
    {"items", as_all_of},           {"allOf", concatenated},      {"minimum", larger},
    {"exclusiveMinimum", larger},   {"minLength", larger},        {"minItems", larger},
    {"minProperties", larger},      {"maximum", smaller},         {"exclusiveMaximum", smaller},
    {"maxLength", smaller},         {"maxItems", smaller},        {"maxProperties", smaller},
};

/* Whether b names properties, alone or by patterns, that a does not, and to which a's "additionalProperties" apply. */
static bool restricts(const json_t *a, const json_t *b) {
    const json_t *of_a = json_object_get(a, "properties"), *of_b = json_object_get(b, "properties"),
                 *further = json_object_get(a, "additionalProperties"),
                 *patterns = json_object_get(b, "patternProperties");
    const char *name;
    json_t *value;
    if (!further || json_is_true(further))
        return false;
    bool more = patterns && !json_equal(json_object_get(a, "patternProperties"), patterns);
    json_object_foreach((json_t *)of_b, name, value) more |= !json_object_get(of_a, name);
    return more;
}

static bool join_keyword(tsri_text_schema *s, json_t *all, const char *keyword,
                         const json_t *value) {
    const json_t *own = json_object_get(all, keyword);
    if (!own || tsri_text_schema_is_note(keyword) || json_equal(own, value))
        return own || !json_object_set(all, keyword, (json_t *)value);
    if (json_array_size(own) * json_array_size(value) > MOST_PAIRS) {
        tsri_text_schema_fail(s, TSR_E_ARGUMENT, "\"%.40s\": two long lists both hold (allOf)",
                              keyword);
        return false;
    }
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
        if (!strcmp(joins[i].keyword, keyword))
            return !json_object_set_new(all, keyword, joins[i].join(own, value));
    if (!strcmp(keyword, "$ref")) { /* one of them moves to allOf */
        json_t *list = json_pack("[{s:O}]", "$ref", value), *old = json_object_get(all, "allOf"),
               *both = old ? concatenated(old, list) : json_incref(list);
        json_decref(list);
        return !json_object_set_new(all, "allOf", both);
    }
    tsri_text_schema_fail(s, TSR_E_UNSUPPORTED,
                          "\"%.40s\" stands in two schemas that both hold (allOf), with different "
                          "values: write it once",
                          keyword);
    return false;
}

json_t *tsri_text_schema_join(tsri_text_schema *s, const json_t *a, const json_t *b) {
    if (json_is_true(a) || json_is_true(b)) {
        json_t *other = (json_t *)(json_is_true(a) ? b : a);
        json_array_append(s->joined, other);
        return other;
    }
    if (!json_is_object(a) || !json_is_object(b)) {
        tsri_text_schema_fail(s, TSR_E_ARGUMENT,
                              "it is false, or not an object: nothing is allowed");
        return NULL;
    }
    if (restricts(a, b) || restricts(b, a)) {
        tsri_text_schema_fail(s, TSR_E_UNSUPPORTED,
                              "\"additionalProperties\" stands in one of two schemas that both "
                              "hold (allOf), and the other one has more properties: write it once");
        return NULL;
    }
    json_t *all = json_copy((json_t *)a), *value;
    const char *keyword;
    json_array_append_new(s->joined, all);
    json_object_foreach((json_t *)b, keyword,
                        value) if (!join_keyword(s, all, keyword, value)) return NULL;
    return all;
}

/* The reference that "allOf" consists of, with what stands beside: read as one, it may lead back to itself. NULL: there are
 * other parts, or properties, which come before those of the reference. */
static json_t *only_reference(tsri_text_schema *s, const json_t *list, json_t *beside) {
    const json_t *one = json_array_get(list, 0);
    json_t *pointer = json_object_get(one, "$ref");
    if (!beside || !pointer || json_array_size(list) > 1 || json_object_get(beside, "$ref") ||
        json_object_get(beside, "properties") || tsri_text_schema_without(s, one, "$ref"))
        return NULL;
    return json_object_set(beside, "$ref", pointer) ? NULL : beside;
}

const json_t *tsri_text_schema_all_of(tsri_text_schema *s, const json_t *schema) {
    const json_t *list = json_object_get(schema, "allOf");
    json_t *beside = tsri_text_schema_without(s, schema, "allOf"),
           *reference = only_reference(s, list, beside);
    const json_t *all = beside;
    if (reference)
        return reference;
    if (!json_array_size(list))
        tsri_text_schema_fail(s, TSR_E_ARGUMENT, "\"allOf\": a list of schemas is wanted");
    for (size_t i = 0; i < json_array_size(list) && s->json.tree->status == TSR_OK; i++) {
        const json_t *one = json_array_get(list, i);
        const char *pointer = tsri_text_schema_word(json_object_get(one, "$ref"));
        /* A schema that is referred to is taken as it is: two references can't stand in one. */
        if (pointer && (all || json_array_size(list) > 1)) {
            const json_t *rest = tsri_text_schema_without(s, one, "$ref"),
                         *other = tsri_text_schema_at(s, pointer);
            one = rest && other ? tsri_text_schema_join(s, other, rest) : other;
        }
        all = !one ? NULL : all ? tsri_text_schema_join(s, all, one) : one;
        if (!all)
            return NULL;
    }
    return all;
}

const json_t *tsri_text_schema_flat(tsri_text_schema *s, const json_t *schema) {
    enum { STEPS = 32 };
    for (int i = 0; i < STEPS && schema; i++) {
        const char *pointer = tsri_text_schema_word(json_object_get(schema, "$ref"));
        if (json_object_get(schema, "allOf")) {
            schema = tsri_text_schema_all_of(s, schema);
            continue;
        }
        if (!pointer)
            return schema;
        const json_t *rest = tsri_text_schema_without(s, schema, "$ref"),
                     *other = tsri_text_schema_at(s, pointer);
        schema = rest && other ? tsri_text_schema_join(s, other, rest) : other;
    }
    return NULL;
}

/* ---- references ---- */

static int append(const char *text, size_t n, void *data) {
    return tsri_base_bytes_append(data, text, n) == TSR_OK ? 0 : -1;
}

/* What a reference says, as a text: equal ones say the same. False: it says too much. */
static bool write_reference(const char *pointer, const json_t *rest, tsri_bytes *out) {
    json_t *both = json_pack("[s,O?]", pointer, rest);
    const bool fine = both && !json_dump_callback(both, append, out, JSON_COMPACT);
    json_decref(both);
    return fine;
}

static int32_t add_reference(tsri_text_schema *s, const char *pointer, const json_t *schema) {
    tsri_text_tree *t = s->json.tree;
    if (t->status == TSR_OK)
        t->status = tsri_base_grow(&s->references, &s->references_room, s->n_references + 1,
                                   sizeof *s->references);
    const int32_t rule = tsri_text_rule_new(t, pointer, strlen(pointer));
    if (t->status == TSR_OK)
        s->references[s->n_references++] = (tsri_text_reference){.schema = schema, .rule = rule};
    return rule;
}

int32_t tsri_text_schema_refer(tsri_text_schema *s, const char *pointer, const json_t *rest) {
    tsri_bytes text = {.limit = BESIDE};
    const bool shared = write_reference(pointer, rest, &text);
    const json_t *known = shared ? json_object_get(s->rules, text.data) : NULL,
                 *target = known ? NULL : tsri_text_schema_at(s, pointer),
                 *both = target && rest ? tsri_text_schema_join(s, target, rest) : target;
    int32_t all = 0;
    if (known)
        all = tsri_text_call(s->json.tree, (int32_t)json_integer_value(known));
    else if (both && !shared)
        all = tsri_text_schema_read(s, both);
    else if (both) {
        const int32_t rule = add_reference(s, pointer, both);
        if (json_object_set_new(s->rules, text.data, json_integer(rule)))
            tsri_text_schema_fail(s, TSR_E_HOST_MEMORY, "out of memory");
        all = tsri_text_call(s->json.tree, rule);
    }
    tsri_base_bytes_clear(&text);
    return all;
}
