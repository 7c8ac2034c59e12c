/* text/grammar/schema.c - reads JSON schemas: types, values, texts and numbers, and what schemas are made of. What
 * would change the meaning and is not served is refused by name. */
#include "text/grammar/schema.h"

#include "base/error.h"
#include "text/grammar/read.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 256, OPEN = 200, SCHEMAS = 1 << 14, COUNT = 1 << 16 };

/* ---- keywords ---- */

/* Types by name, and the keywords of each. Keywords of all types have 0, notes -1. */
static const struct {
    const char *name;
    int type;
} types[] = {{"object", TSRI_TEXT_JSON_OBJECT}, {"array", TSRI_TEXT_JSON_ARRAY},
             {"string", TSRI_TEXT_JSON_TEXT},   {"integer", TSRI_TEXT_JSON_WHOLE},
             {"number", TSRI_TEXT_JSON_NUMBER}, {"boolean", TSRI_TEXT_JSON_BOOLEAN},
             {"null", TSRI_TEXT_JSON_NOTHING}},
  keywords[] = {
      {"type", 0},
      {"enum", 0},
      {"const", 0},
      {"anyOf", 0},
      {"oneOf", 0},
      {"allOf", 0},
      {"$ref", 0},
      {"nullable", 0},
      {"properties", TSRI_TEXT_JSON_OBJECT},
      {"required", TSRI_TEXT_JSON_OBJECT},
      {"patternProperties", TSRI_TEXT_JSON_OBJECT},
      {"additionalProperties", TSRI_TEXT_JSON_OBJECT},
      {"propertyNames", TSRI_TEXT_JSON_OBJECT},
      {"minProperties", TSRI_TEXT_JSON_OBJECT},
      {"maxProperties", TSRI_TEXT_JSON_OBJECT},
      {"unevaluatedProperties", TSRI_TEXT_JSON_OBJECT},
      {"items", TSRI_TEXT_JSON_ARRAY},
      {"prefixItems", TSRI_TEXT_JSON_ARRAY},
      {"additionalItems", TSRI_TEXT_JSON_ARRAY},
      {"minItems", TSRI_TEXT_JSON_ARRAY},
      {"maxItems", TSRI_TEXT_JSON_ARRAY},
      {"uniqueItems", TSRI_TEXT_JSON_ARRAY},
      {"minLength", TSRI_TEXT_JSON_TEXT},
      {"maxLength", TSRI_TEXT_JSON_TEXT},
      {"pattern", TSRI_TEXT_JSON_TEXT},
      {"format", TSRI_TEXT_JSON_TEXT},
      {"minimum", TSRI_TEXT_JSON_NUMBER},
      {"maximum", TSRI_TEXT_JSON_NUMBER},
      {"exclusiveMinimum", TSRI_TEXT_JSON_NUMBER},
      {"exclusiveMaximum", TSRI_TEXT_JSON_NUMBER},
      {"multipleOf", TSRI_TEXT_JSON_NUMBER},
      {"title", -1},
      {"description", -1},
      {"default", -1},
      {"examples", -1},
      {"example", -1},
      {"deprecated", -1},
      {"readOnly", -1},
      {"writeOnly", -1},
      {"$comment", -1},
      {"$id", -1},
      {"$schema", -1},
      {"$defs", -1},
      {"definitions", -1},
      {"contentMediaType", -1},
      {"contentEncoding", -1},
      {"discriminator", -1},
      {"strict", -1},
};

/* -2: unknown */
static int kind_of(const char *keyword) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (!strcmp(keywords[i].name, keyword))
            return keywords[i].type;
    return !strncmp(keyword, "x-", 2) ? -1 : -2;
}

bool tsri_text_schema_is_note(const char *keyword) {
    return kind_of(keyword) == -1;
}

const char *tsri_text_schema_word(const json_t *value) {
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

int32_t tsri_text_schema_fail(tsri_text_schema *s, tsr_status status, const char *format, ...) {
    char sentence[512];
    va_list arguments;
    if (s->json.tree->status != TSR_OK)
        return 0;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    s->json.tree->status = s->path.size
                               ? tsri_base_fail(status, "at %.200s: %s", s->path.data, sentence)
                               : tsri_base_fail(status, "%s", sentence);
    return 0;
}

int32_t tsri_text_schema_count(tsri_text_schema *s, const json_t *schema, const char *key,
                               int32_t missing) {
    const json_t *value = json_object_get(schema, key);
    const double number = json_number_value(value);
    if (!value)
        return missing;
    if (!json_is_number(value) || !(number >= 0) || number > COUNT || number != floor(number))
        return tsri_text_schema_fail(s, TSR_E_ARGUMENT,
                                     "\"%s\": a whole number from 0 to %d is wanted", key, COUNT);
    return (int32_t)number;
}

static bool number_is(const json_t *value, double wanted) {
    return json_is_number(value) && json_number_value(value) == wanted;
}

/* Values with which a keyword changes nothing, though others of it are not served. */
static bool check_value(tsri_text_schema *s, const char *keyword, const json_t *value) {
    if ((!strcmp(keyword, "uniqueItems") || !strcmp(keyword, "unevaluatedProperties")) &&
        !json_is_false(value))
        tsri_text_schema_fail(s, TSR_E_UNSUPPORTED, "\"%s\" is served with the value false alone",
                              keyword);
    if (!strcmp(keyword, "multipleOf") && !number_is(value, 1))
        tsri_text_schema_fail(s, TSR_E_UNSUPPORTED,
                              "\"multipleOf\" is served with the value 1 alone");
    return s->json.tree->status == TSR_OK;
}

static bool check_keywords(tsri_text_schema *s, const json_t *schema) {
    const char *keyword;
    json_t *value;
    json_object_foreach((json_t *)schema, keyword, value) {
        if (kind_of(keyword) == -2)
            tsri_text_schema_fail(s, TSR_E_UNSUPPORTED, "\"%.60s\" is not served", keyword);
        if (!check_value(s, keyword, value))
            return false;
    }
    return true;
}

/* ---- values ---- */

int tsri_text_value_type(const json_t *value) {
    return json_is_object(value)    ? TSRI_TEXT_JSON_OBJECT
           : json_is_array(value)   ? TSRI_TEXT_JSON_ARRAY
           : json_is_string(value)  ? TSRI_TEXT_JSON_TEXT
           : json_is_integer(value) ? TSRI_TEXT_JSON_WHOLE | TSRI_TEXT_JSON_NUMBER
           : json_is_real(value)    ? TSRI_TEXT_JSON_NUMBER
           : json_is_boolean(value) ? TSRI_TEXT_JSON_BOOLEAN
                                    : TSRI_TEXT_JSON_NOTHING;
}

/* With as few digits as give the same number again. */
static char *print(const json_t *value) {
    for (size_t digits = 15; digits < 17; digits++) {
        char *text =
            json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(digits));
        json_t *again = text ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
        const bool same = again && json_equal(again, value);
        json_decref(again);
        if (same)
            return text;
        free(text);
    }
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

static int32_t add_value(tsri_text_schema *s, int32_t all, const json_t *value) {
    char *text = print(value);
    if (!text)
        return tsri_text_schema_fail(s, TSR_E_HOST_MEMORY, "out of memory");
    all = tsri_text_choice(s->json.tree, all, tsri_text_word(s->json.tree, text));
    free(text);
    return all;
}

/* enum and const; beside them only types are served. */
static int32_t read_values(tsri_text_schema *s, const json_t *schema, int allowed) {
    const json_t *list = json_object_get(schema, "enum"), *one = json_object_get(schema, "const");
    int32_t all = tsri_text_class(s->json.tree, NULL, 0, false);
    size_t n = 0;
    const char *keyword;
    json_t *value;
    json_object_foreach((json_t *)schema, keyword, value) if (
        kind_of(keyword) >
        0) return tsri_text_schema_fail(s, TSR_E_UNSUPPORTED,
                                        "\"%s\" beside \"enum\" or \"const\" is not served",
                                        keyword);
    if (list && !json_array_size(list))
        return tsri_text_schema_fail(s, TSR_E_ARGUMENT, "\"enum\": a list of values is wanted");
    for (size_t i = 0; i < (list ? json_array_size(list) : 1); i++) {
        const json_t *item = list ? json_array_get(list, i) : one;
        if (!(tsri_text_value_type(item) & allowed) || (list && one && !json_equal(item, one)))
            continue;
        all = add_value(s, all, item);
        n++;
    }
    return n ? all
             : tsri_text_schema_fail(s, TSR_E_ARGUMENT,
                                     "none of the values of \"enum\" or \"const\" is of its type");
}

/* ---- numbers ---- */

/* The tighter of two bounds, of which one is exclusive. Of whole numbers a fraction is rounded inwards. */
static tsri_text_bound bound(tsri_text_schema *s, const json_t *schema, const char *inclusive,
                             const char *exclusive, bool lower, bool whole) {
    tsri_text_bound found = {0};
    double tightest = 0;
    for (int i = 0; i < 2; i++) {
        const json_t *value = json_object_get(schema, i ? exclusive : inclusive);
        double number = json_number_value(value);
        bool apart = i;
        if (!value)
            continue;
        if (json_is_boolean(value)) { /* draft 4: it makes the other one exclusive */
            found.exclusive |= i && found.given && json_is_true(value);
            continue;
        }
        if (!json_is_number(value)) {
            tsri_text_schema_fail(s, TSR_E_ARGUMENT, "\"%s\": a number is wanted",
                                  i ? exclusive : inclusive);
            continue;
        }
        if (number != floor(number) && !whole)
            tsri_text_schema_fail(
                s, TSR_E_UNSUPPORTED,
                "bounds of the type \"number\" are served if they are whole numbers");
        if (number != floor(number)) {
            number = lower ? ceil(number) : floor(number);
            apart = false;
        }
        if (found.given && (lower ? number < tightest : number > tightest))
            continue;
        found.exclusive = apart || (found.given && number == tightest && found.exclusive);
        found.given = true;
        tightest = number;
        found.value = json_is_integer(value) ? json_integer_value(value)
                      : number >= 9e18       ? INT64_MAX
                      : number <= -9e18      ? INT64_MIN
                                             : (int64_t)number;
    }
    return found;
}

static int32_t read_number(tsri_text_schema *s, const json_t *schema, bool whole) {
    const tsri_text_bound low = bound(s, schema, "minimum", "exclusiveMinimum", true, whole),
                          high = bound(s, schema, "maximum", "exclusiveMaximum", false, whole);
    tsri_text_tree *t = s->json.tree;
    whole |= json_object_get(schema, "multipleOf") != NULL;
    if (!whole && !low.given && !high.given)
        return tsri_text_json_number(&s->json);
    const int32_t all =
        whole ? tsri_text_json_whole(t, low, high) : tsri_text_json_between(t, low, high);
    if (t->status == TSR_OK && t->expressions[all].kind == TSRI_TEXT_CLASS &&
        !t->expressions[all].b)
        return tsri_text_schema_fail(s, TSR_E_ARGUMENT, "no number is between its bounds");
    return all;
}

/* ---- types ---- */

static int type_named(tsri_text_schema *s, const json_t *name) {
    const char *word = tsri_text_schema_word(name);
    for (size_t i = 0; word && i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, word))
            return types[i].type;
    tsri_text_schema_fail(
        s, TSR_E_ARGUMENT,
        "\"type\" is %.40s: object, array, string, number, integer, boolean, null, "
        "or a list of these are wanted",
        word ? word : "not a text without a 0 byte");
    return 0;
}

int tsri_text_schema_types(tsri_text_schema *s, const json_t *schema, bool *named) {
    const json_t *type = json_object_get(schema, "type");
    int allowed = 0;
    const char *keyword;
    json_t *value;
    *named = type;
    for (size_t i = 0; i < json_array_size(type); i++)
        allowed |= type_named(s, json_array_get(type, i));
    if (type && !json_is_array(type))
        allowed = type_named(s, type);
    if (type && !allowed)
        tsri_text_schema_fail(s, TSR_E_ARGUMENT, "no type is allowed by all of its parts");
    json_object_foreach((json_t *)schema, keyword, value) if (!type && kind_of(keyword) > 0)
        allowed |= kind_of(keyword);
    *named |= allowed != 0;
    if (!*named)
        allowed = TSRI_TEXT_JSON_OBJECT | TSRI_TEXT_JSON_ARRAY | TSRI_TEXT_JSON_TEXT |
                  TSRI_TEXT_JSON_WHOLE | TSRI_TEXT_JSON_NUMBER | TSRI_TEXT_JSON_BOOLEAN |
                  TSRI_TEXT_JSON_NOTHING;
    return allowed |
           (json_is_true(json_object_get(schema, "nullable")) ? TSRI_TEXT_JSON_NOTHING : 0);
}

static int32_t read_types(tsri_text_schema *s, const json_t *schema) {
    tsri_text_tree *t = s->json.tree;
    bool named;
    int allowed = tsri_text_schema_types(s, schema, &named);
    if (json_object_get(schema, "enum") || json_object_get(schema, "const"))
        return read_values(s, schema,
                           allowed | (allowed & TSRI_TEXT_JSON_NUMBER ? TSRI_TEXT_JSON_WHOLE : 0));
    if (!named)
        return tsri_text_json_value(&s->json);
    int32_t all = tsri_text_class(t, NULL, 0, false);
    if (allowed & TSRI_TEXT_JSON_OBJECT)
        all = tsri_text_choice(t, all, tsri_text_schema_object(s, schema));
    if (allowed & TSRI_TEXT_JSON_ARRAY)
        all = tsri_text_choice(t, all, tsri_text_schema_array(s, schema));
    if (allowed & TSRI_TEXT_JSON_TEXT)
        all = tsri_text_choice(t, all, tsri_text_schema_text(s, schema));
    if (allowed & (TSRI_TEXT_JSON_NUMBER | TSRI_TEXT_JSON_WHOLE))
        all = tsri_text_choice(t, all, read_number(s, schema, !(allowed & TSRI_TEXT_JSON_NUMBER)));
    if (allowed & TSRI_TEXT_JSON_BOOLEAN)
        all = tsri_text_choice(
            t, all, tsri_text_choice(t, tsri_text_word(t, "true"), tsri_text_word(t, "false")));
    if (allowed & TSRI_TEXT_JSON_NOTHING)
        all = tsri_text_choice(t, all, tsri_text_word(t, "null"));
    return all;
}

/* ---- what schemas are made of ---- */

static int32_t read_reference(tsri_text_schema *s, const json_t *schema) {
    const char *pointer = tsri_text_schema_word(json_object_get(schema, "$ref"));
    if (!pointer)
        return tsri_text_schema_fail(s, TSR_E_ARGUMENT,
                                     "\"$ref\": a text without a 0 byte is wanted");
    return tsri_text_schema_refer(s, pointer, tsri_text_schema_without(s, schema, "$ref"));
}

static int32_t read_any_of(tsri_text_schema *s, const json_t *schema, const char *keyword) {
    const json_t *list = json_object_get(schema, keyword),
                 *rest = tsri_text_schema_without(s, schema, keyword);
    tsri_text_tree *t = s->json.tree;
    int32_t all = tsri_text_class(t, NULL, 0, false);
    if (!json_array_size(list))
        return tsri_text_schema_fail(s, TSR_E_ARGUMENT, "\"%s\": a list of schemas is wanted",
                                     keyword);
    json_t *parts = json_array();
    for (size_t i = 0; i < json_array_size(list) && t->status == TSR_OK; i++) {
        const json_t *one = json_array_get(list, i);
        json_array_append(parts, (json_t *)(rest ? tsri_text_schema_join(s, rest, one) : one));
    }
    if (!strcmp(keyword, "oneOf"))
        tsri_text_schema_set_apart(s, parts);
    for (size_t i = 0; i < json_array_size(parts) && t->status == TSR_OK; i++)
        all = tsri_text_choice(t, all,
                               tsri_text_schema_part(s, keyword, NULL, json_array_get(parts, i)));
    json_array_append_new(s->joined, parts);
    return all;
}

static int32_t read_object(tsri_text_schema *s, const json_t *schema) {
    static const char *const parts[] = {"anyOf", "oneOf"};
    if (!check_keywords(s, schema))
        return 0;
    if (json_object_get(schema, "allOf"))
        return tsri_text_schema_read(s, tsri_text_schema_all_of(s, schema));
    if (json_object_get(schema, "$ref"))
        return read_reference(s, schema);
    for (size_t i = 0; i < 2; i++)
        if (json_object_get(schema, parts[i]))
            return read_any_of(s, schema, parts[i]);
    return read_types(s, schema);
}

int32_t tsri_text_schema_read(tsri_text_schema *s, const json_t *schema) {
    int32_t all = 0;
    if (s->json.tree->status != TSR_OK)
        return 0;
    if (s->depth >= OPEN || s->count >= SCHEMAS)
        return tsri_text_schema_fail(
            s, TSR_E_ARGUMENT, "it is too large: more than %d schemas, or %d within each other",
            SCHEMAS, OPEN);
    s->depth++;
    s->count++;
    if (json_is_true(schema))
        all = tsri_text_json_value(&s->json);
    else if (json_is_object(schema))
        all = read_object(s, schema);
    else
        tsri_text_schema_fail(s, TSR_E_ARGUMENT,
                              json_is_false(schema) ? "it is false: nothing is allowed"
                                                    : "a schema is an object, or true");
    s->depth--;
    return all;
}

int32_t tsri_text_schema_part(tsri_text_schema *s, const char *keyword, const char *name,
                              const json_t *schema) {
    const size_t before = s->path.size;
    tsr_status *status = &s->json.tree->status;
    if (*status == TSR_OK)
        *status = tsri_base_bytes_printf(&s->path, name ? "/%s/%.80s" : "/%s", keyword, name);
    const int32_t all = tsri_text_schema_read(s, schema);
    if (s->path.data && *status == TSR_OK) {
        s->path.size = before;
        s->path.data[before] = 0;
    }
    return all;
}

/* ---- the whole ---- */

static int32_t read_root(tsri_text_schema *s, const json_t *schema) {
    s->rules = json_object();
    const int32_t root = tsri_text_rule_new(s->json.tree, "#", 1);
    tsri_text_rule_set(s->json.tree, root, tsri_text_schema_read(s, schema));
    for (size_t i = 0; i < s->n_references && s->json.tree->status == TSR_OK; i++) {
        const int32_t rule = s->references[i].rule;
        const char *pointer = s->json.tree->rules[rule].name; /* #/$defs/name */
        tsri_text_rule_set(s->json.tree, rule,
                           tsri_text_schema_part(s, pointer + (strlen(pointer) > 2 ? 2 : 1), NULL,
                                                 s->references[i].schema));
    }
    json_decref(s->rules);
    return root;
}

tsr_status tsri_text_schema_within(const tsri_text_schema *s, const json_t *schema,
                                   tsri_text_tree *tree) {
    tsri_text_schema own = {
        .json = {.tree = tree}, .root = s->root, .joined = s->joined, .depth = s->depth};
    (void)read_root(&own, schema);
    free(own.references);
    tsri_base_bytes_clear(&own.path);
    return tree->status;
}

tsr_status tsri_text_schema_add(const char *text, size_t n, tsri_text_tree *tree, int32_t *rule) {
    tsri_text_schema s = {.json = {.tree = tree}};
    json_t *schema = NULL;
    TRY(tsri_base_json_parse_said(text, n, DEPTH, "its text", &schema));
    s.root = schema;
    s.joined = json_array();
    if (s.joined)
        *rule = read_root(&s, schema);
    else
        tree->status = tsri_base_fail(TSR_E_HOST_MEMORY, "out of memory");
    json_decref(s.joined);
    json_decref(schema);
    free(s.references);
    tsri_base_bytes_clear(&s.path);
    return tree->status;
}

tsr_status tsri_text_schema_read_text(const char *text, size_t n, tsri_text_tree *tree) {
    int32_t root;
    return tsri_text_schema_add(text, n, tree, &root);
}
