/* task/results/schema.c - holds JSON against docs/benchmark-schema.json: the keywords of JSON Schema
 * that it uses. "pattern" is not among them: the only text that has one is the hash, which is
 * compared with the right one. */
#include "task/results/schema.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH = 16, PLACE = 160, TOLD = 60 };

typedef struct checking {
    const char *what;  /* the source, for sentences */
    char place[PLACE]; /* "rows[3].samples" */
    bool quiet;        /* one of several choices is tried: no sentence */
} checking;

static tsr_status check(checking *c, const json_t *value, const json_t *schema);

static bool is_a(const json_t *value, const char *type) {
    return !strcmp(type, "object")    ? json_is_object(value)
           : !strcmp(type, "array")   ? json_is_array(value)
           : !strcmp(type, "string")  ? json_is_string(value)
           : !strcmp(type, "boolean") ? json_is_boolean(value)
           : !strcmp(type, "null")    ? json_is_null(value)
           : !strcmp(type, "integer") ? json_is_integer(value)
                                      : json_is_number(value) && isfinite(json_number_value(value));
}

/* What a value is, for people, cut to a few words. */
static void tell_value(const json_t *value, char out[TOLD]) {
    if (json_is_object(value))
        snprintf(out, TOLD, "an object");
    else if (json_is_array(value))
        snprintf(out, TOLD, "a list of %zu", json_array_size(value));
    else if (json_is_string(value))
        snprintf(out, TOLD, "\"%.40s\"", json_string_value(value));
    else if (json_is_number(value))
        snprintf(out, TOLD, "%.9g", json_number_value(value));
    else
        snprintf(out, TOLD, "%s",
                 json_is_null(value)   ? "null"
                 : json_is_true(value) ? "true"
                                       : "false");
}

static tsr_status wrong(const checking *c, const json_t *value, const char *wanted) {
    char told[TOLD];
    if (c->quiet)
        return TSR_E_FORMAT;
    tell_value(value, told);
    return tsri_base_fail(
        TSR_E_FORMAT,
        "%s: %s is %s, but %s is wanted (docs/benchmark-schema.json): give a file "
        "that tessera bench wrote",
        c->what, *c->place ? c->place : "the file", told, wanted);
}

/* The names of the types or of the values that are allowed: "a number or null". */
static void list_words(const json_t *words, char *out, size_t size) {
    const json_t *word;
    size_t i, at = 0;
    *out = 0;
    json_array_foreach(words, i, word) {
        const char *text = json_is_string(word) ? json_string_value(word) : "null";
        const int n = snprintf(out + at, size - at, "%s%s", i ? " or " : "", text);
        at += n < 0 || (size_t)n >= size - at ? 0 : (size_t)n;
    }
}

static tsr_status check_type(const checking *c, const json_t *value, const json_t *type) {
    char wanted[96];
    size_t i;
    const json_t *one;
    if (json_is_string(type))
        return is_a(value, json_string_value(type)) ? TSR_OK
                                                    : wrong(c, value, json_string_value(type));
    json_array_foreach(type, i, one) if (is_a(value, json_string_value(one))) return TSR_OK;
    list_words(type, wanted, sizeof wanted);
    return wrong(c, value, wanted);
}

static tsr_status check_enum(const checking *c, const json_t *value, const json_t *allowed) {
    char wanted[128];
    const json_t *one;
    size_t i;
    json_array_foreach(allowed, i, one) if (json_equal(one, value)) return TSR_OK;
    list_words(allowed, wanted, sizeof wanted);
    return wrong(c, value, wanted);
}

static tsr_status check_any(checking *c, const json_t *value, const json_t *choices) {
    const json_t *one;
    size_t i;
    if (c->quiet)
        return TSR_OK; /* choices are not nested in the schema */
    const size_t at = strlen(c->place);
    json_array_foreach(choices, i, one) {
        c->quiet = true;
        const tsr_status status = check(c, value, one);
        c->quiet = false;
        c->place[at] = 0;
        if (status == TSR_OK)
            return TSR_OK;
    }
    /* The last choice is the one that is not null: its sentence says what is wrong. */
    return check(c, value, json_array_get(choices, json_array_size(choices) - 1));
}

static tsr_status check_array(checking *c, const json_t *value, const json_t *schema) {
    const json_t *items = json_object_get(schema, "items"), *item;
    const json_t *least = json_object_get(schema, "minItems"),
                 *most = json_object_get(schema, "maxItems");
    const size_t at = strlen(c->place), n = json_array_size(value);
    size_t i;
    if ((least && n < (size_t)json_integer_value(least)) ||
        (most && n > (size_t)json_integer_value(most)))
        return wrong(c, value, "a list of another length");
    json_array_foreach(value, i, item) {
        if (!items)
            break;
        snprintf(c->place + at, PLACE - at, "[%zu]", i);
        TRY(check(c, item, items));
        c->place[at] = 0;
    }
    return TSR_OK;
}

static tsr_status check_object(checking *c, const json_t *value, const json_t *schema) {
    const json_t *properties = json_object_get(schema, "properties"), *name;
    const bool closed = json_is_false(json_object_get(schema, "additionalProperties"));
    const size_t at = strlen(c->place);
    const char *key;
    json_t *item;
    size_t i;
    json_array_foreach(json_object_get(schema, "required"), i,
                       name) if (!json_object_get(value, json_string_value(name))) {
        char wanted[96];
        snprintf(wanted, sizeof wanted, "one with \"%s\"", json_string_value(name));
        return wrong(c, value, wanted);
    }
    json_object_foreach((json_t *)value, key, item) {
        const json_t *property = json_object_get(properties, key);
        snprintf(c->place + at, PLACE - at, "%s%.60s", at ? "." : "", key);
        if (!property && closed)
            return wrong(c, item, "no member of this name");
        if (property)
            TRY(check(c, item, property));
        c->place[at] = 0;
    }
    return TSR_OK;
}

static tsr_status check(checking *c, const json_t *value, const json_t *schema) {
    const json_t *type = json_object_get(schema, "type"), *any = json_object_get(schema, "anyOf"),
                 *allowed = json_object_get(schema, "enum"),
                 *same = json_object_get(schema, "const"),
                 *minimum = json_object_get(schema, "minimum");
    if (type)
        TRY(check_type(c, value, type));
    if (allowed)
        TRY(check_enum(c, value, allowed));
    if (same && !json_equal(same, value)) {
        char wanted[TOLD];
        tell_value(same, wanted);
        return wrong(c, value, wanted);
    }
    if (any)
        TRY(check_any(c, value, any));
    if (minimum && json_is_number(value) && json_number_value(value) < json_number_value(minimum))
        return wrong(c, value, "a larger number");
    if (json_is_array(value))
        return check_array(c, value, schema);
    return json_is_object(value) ? check_object(c, value, schema) : TSR_OK;
}

tsr_status tsri_results_check(const json_t *value, const char *what) {
    checking c = {.what = what};
    json_t *schema = NULL;
    TRY(tsri_base_json_parse(tsri_results_schemas[0].text, tsri_results_schemas[0].size, DEPTH,
                             "benchmark-schema.json", &schema));
    const tsr_status status = check(&c, value, schema);
    json_decref(schema);
    return status;
}
