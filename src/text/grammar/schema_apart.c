/* text/grammar/schema_apart.c - the parts of "oneOf": no text that is written by one may hold for another one. That is
 * known where their types differ, or their values, or where objects have a property that is required and whose values
 * differ, or one that the other part requires and this one does not write. */
#include "text/grammar/schema.h"

#include <string.h>

enum { DEPTH = 12, MOST_PARTS = 256, MOST_PAIRS = 1 << 17, ANY_TYPE = 127 };

/* Whether what `a` writes is never what `b` allows. */
static bool is_apart(tsri_text_schema *s, const json_t *a, const json_t *b, int depth);

static bool in_list(const json_t *list, const char *name) {
    bool found = false;
    for (size_t i = 0; i < json_array_size(list) && !found; i++) {
        const char *own = tsri_text_schema_word(json_array_get(list, i));
        found = own && !strcmp(own, name);
    }
    return found;
}

/* ---- types and values ---- */

/* A number may be whole. */
static int with_whole(int types) {
    return types & TSRI_TEXT_JSON_NUMBER ? types | TSRI_TEXT_JSON_WHOLE : types;
}

/* Types of what a schema allows, which without a "type" are all. */
static int types_allowed(tsri_text_schema *s, const json_t *schema) {
    bool named;
    return json_object_get(schema, "type") ? with_whole(tsri_text_schema_types(s, schema, &named))
                                           : ANY_TYPE;
}

static int types_written(tsri_text_schema *s, const json_t *schema) {
    bool named;
    return with_whole(tsri_text_schema_types(s, schema, &named));
}

static const json_t *value_at(const json_t *schema, size_t i) {
    const json_t *list = json_object_get(schema, "enum");
    return list ? json_array_get(list, i) : i ? NULL : json_object_get(schema, "const");
}

static bool has_value(const json_t *schema, const json_t *value) {
    const json_t *own;
    bool found = false;
    for (size_t i = 0; (own = value_at(schema, i)) && !found; i++)
        found = json_equal(own, value) || (json_is_number(own) && json_is_number(value) &&
                                           json_number_value(own) == json_number_value(value));
    return found;
}

/* Whether b allows no value that a lists: each is of a type that b lacks, or is not in b's own list. */
static bool values_apart(tsri_text_schema *s, const json_t *a, const json_t *b) {
    const int types = types_allowed(s, b);
    const bool listed = value_at(b, 0);
    const json_t *value;
    bool apart = true;
    for (size_t i = 0; (value = value_at(a, i)) && apart; i++)
        apart = !(tsri_text_value_type(value) & types) || (listed && !has_value(b, value));
    return apart;
}

/* The values of b, which has some, are of no type that a writes. */
static bool types_of_values_apart(tsri_text_schema *s, const json_t *a, const json_t *b) {
    const int types = types_written(s, a);
    const json_t *value;
    bool apart = true;
    for (size_t i = 0; (value = value_at(b, i)) && apart; i++)
        apart = !(tsri_text_value_type(value) & types);
    return apart;
}

/* ---- objects ---- */

/* Whether properties that it does not name may be written. */
static bool is_open(const json_t *schema) {
    const json_t *further = json_object_get(schema, "additionalProperties");
    return json_object_get(schema, "patternProperties") ||
           (further ? !json_is_false(further) : !json_object_get(schema, "properties"));
}

static const json_t *property(const json_t *schema, const char *name) {
    return json_object_get(json_object_get(schema, "properties"), name);
}

static bool needs(const json_t *schema, const char *name) {
    return in_list(json_object_get(schema, "required"), name);
}

/* Whether objects are apart by this property, which one of them requires. */
static bool property_apart(tsri_text_schema *s, const json_t *a, const json_t *b, const char *name,
                           int depth) {
    const json_t *of_a = property(a, name), *of_b = property(b, name);
    if (needs(b, name) && !of_a && !needs(a, name) && !is_open(a))
        return true;
    if (needs(a, name) && !of_b && json_is_false(json_object_get(b, "additionalProperties")) &&
        !json_object_get(b, "patternProperties"))
        return true;
    return of_a && of_b && is_apart(s, of_a, of_b, depth + 1);
}

static bool objects_apart(tsri_text_schema *s, const json_t *a, const json_t *b, int depth) {
    const json_t *lists[] = {json_object_get(a, "required"), json_object_get(b, "required")};
    bool apart = false;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < json_array_size(lists[k]) && !apart; i++) {
            const char *name = tsri_text_schema_word(json_array_get(lists[k], i));
            apart = name && property_apart(s, a, b, name, depth);
        }
    return apart;
}

/* ---- schemas ---- */

/* Whether each part of a, by "anyOf" or "oneOf", is apart from b; with `other`, a from each of b's. */
static bool parts_apart(tsri_text_schema *s, const json_t *a, const json_t *b, const char *keyword,
                        bool other, int depth) {
    const json_t *whole = other ? b : a, *list = json_object_get(whole, keyword),
                 *rest = tsri_text_schema_without(s, whole, keyword);
    bool apart = true;
    for (size_t i = 0; i < json_array_size(list) && apart; i++) {
        const json_t *part = json_array_get(list, i);
        part = rest ? tsri_text_schema_join(s, rest, part) : part;
        apart = part && is_apart(s, other ? a : part, other ? part : b, depth + 1);
    }
    return apart;
}

static bool is_apart(tsri_text_schema *s, const json_t *a, const json_t *b, int depth) {
    static const char *const keywords[] = {"anyOf", "oneOf"};
    if (s->compared++ == MOST_PAIRS)
        tsri_text_schema_fail(s, TSR_E_ARGUMENT,
                              "\"oneOf\" has too many parts, or parts of parts: more than %d pairs",
                              MOST_PAIRS);
    if (depth > DEPTH || s->json.tree->status != TSR_OK)
        return false;
    if (json_is_false(a) || json_is_false(b))
        return true;
    a = tsri_text_schema_flat(s, a);
    b = tsri_text_schema_flat(s, b);
    if (!json_is_object(a) || !json_is_object(b))
        return false;
    for (size_t i = 0; i < 2; i++) {
        if (json_object_get(a, keywords[i]))
            return parts_apart(s, a, b, keywords[i], false, depth);
        if (json_object_get(b, keywords[i]))
            return parts_apart(s, a, b, keywords[i], true, depth);
    }
    if (value_at(a, 0))
        return values_apart(s, a, b);
    if (value_at(b, 0))
        return types_of_values_apart(s, a, b);
    const int both = types_written(s, a) & types_allowed(s, b);
    return !both || (both == TSRI_TEXT_JSON_OBJECT && objects_apart(s, a, b, depth));
}

/* ---- the parts ---- */

/* A copy of a that does not write a property which b requires, and a does not; NULL: there is none, or a may write
 * any property. */
static json_t *without_required(tsri_text_schema *s, const json_t *a, const json_t *b) {
    const json_t *list;
    a = tsri_text_schema_flat(s, a);
    b = tsri_text_schema_flat(s, b);
    list = json_object_get(b, "required");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = tsri_text_schema_word(json_array_get(list, i));
        if (!name || !property(a, name) || needs(a, name) || is_open(a))
            continue;
        json_t *copy = json_copy((json_t *)a),
               *properties = json_copy(json_object_get(a, "properties"));
        json_object_del(properties, name);
        json_object_set_new(copy, "properties", properties);
        return copy;
    }
    return NULL;
}

static bool set_apart(tsri_text_schema *s, json_t *parts, size_t i, const json_t *other) {
    json_t *less;
    while (!is_apart(s, json_array_get(parts, i), other, 0)) {
        if (s->json.tree->status != TSR_OK ||
            !(less = without_required(s, json_array_get(parts, i), other)))
            return false;
        json_array_set_new(parts, i, less);
    }
    return true;
}

void tsri_text_schema_set_apart(tsri_text_schema *s, json_t *parts) {
    const size_t n = json_array_size(parts);
    json_t *given = json_copy(parts); /* what is allowed, whatever is written */
    if (n > MOST_PARTS)
        tsri_text_schema_fail(s, TSR_E_ARGUMENT, "\"oneOf\" has more than %d parts", MOST_PARTS);
    for (size_t i = 0; i < n && s->json.tree->status == TSR_OK; i++)
        for (size_t k = 0; k < n && s->json.tree->status == TSR_OK; k++)
            if (i != k && !set_apart(s, parts, i, json_array_get(given, k)))
                tsri_text_schema_fail(
                    s, TSR_E_UNSUPPORTED,
                    "parts %zu and %zu of \"oneOf\" may hold at the same time, as far as can be "
                    "told: let both require a property, with values that differ (const, enum), "
                    "or write \"anyOf\"",
                    i + 1, k + 1);
    json_decref(given);
}
