/* text/grammar/schema_names.c - names of properties: which of them may be written, and which schemas their values have,
 * by properties, patternProperties, additionalProperties and propertyNames. */
#include "text/grammar/schema_names.h"

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

/* Any name that is in neither of two objects. */
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

/* ---- patternProperties and propertyNames ---- */

/* A JSON text of a name. */
int32_t tsri_text_name_literal(tsri_text_tree *tree, const char *name) {
    json_t *text = json_string(name);
    char *dumped = json_dumps(text, JSON_ENCODE_ANY);
    const int32_t literal = tsri_text_word(tree, dumped ? dumped : "");
    json_decref(text);
    free(dumped);
    return literal;
}

static int32_t begin(tsri_text_factor *factor) {
    static const char name[] = "names";
    return tsri_text_rule_new(&factor->tree, name, sizeof name - 1);
}

/* Names in which no character is escaped: each has one spelling, so that one that is left out is in no other. */
static void add_plain(tsri_text_names *n) {
    static const tsri_text_characters escaped[] = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
    tsri_text_factor *f = &n->factors[n->n++];
    tsri_text_json j = {.tree = &f->tree};
    const int32_t rule = begin(f), any = tsri_text_class(j.tree, escaped, 3, true);
    tsri_text_rule_set(j.tree, rule,
                       tsri_text_json_quoted(&j, tsri_text_repeat(j.tree, any, 0, -1)));
}

static int32_t choose_names(tsri_text_tree *t, int32_t all, const json_t *names) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)names, name, value) all =
        tsri_text_choice(t, all, tsri_text_name_literal(t, name));
    return all;
}

static void add_named(tsri_text_names *n) {
    tsri_text_factor *f = &n->factors[n->n++];
    const int32_t rule = begin(f), none = tsri_text_class(&f->tree, NULL, 0, false);
    f->except = true;
    tsri_text_rule_set(
        &f->tree, rule,
        choose_names(&f->tree, choose_names(&f->tree, none, n->properties), n->required));
}

static void add_rule(tsri_text_names *n, const json_t *schema) {
    json_t *text = json_pack("{s:s}", "type", "string");
    const json_t *both = tsri_text_schema_join(n->s, text, schema);
    tsri_text_factor *f = &n->factors[n->n++];
    n->rule = f;
    if (both)
        (void)tsri_text_schema_within(n->s, both, &f->tree);
    json_decref(text);
}

static void add_pattern(tsri_text_names *n, const char *pattern) {
    tsri_text_factor *f = &n->factors[n->n++];
    tsri_text_json j = {.tree = &f->tree};
    const int32_t rule = begin(f);
    tsri_text_rule_set(
        j.tree, rule,
        tsri_text_json_quoted(&j, tsri_text_json_pattern(&j, pattern, strlen(pattern))));
}

void tsri_text_names_open(tsri_text_schema *s, const json_t *schema, const json_t *required,
                          tsri_text_names *out) {
    const json_t *patterns = json_object_get(schema, "patternProperties"),
                 *rule = json_object_get(schema, "propertyNames");
    const char *pattern;
    json_t *value;
    *out = (tsri_text_names){
        .s = s, .properties = json_object_get(schema, "properties"), .required = required};
    if (patterns && !json_is_object(patterns))
        tsri_text_schema_fail(s, TSR_E_ARGUMENT, "\"patternProperties\" is an object");
    if (json_object_size(patterns) > TSRI_TEXT_NAME_PATTERNS)
        tsri_text_schema_fail(s, TSR_E_UNSUPPORTED,
                              "\"patternProperties\" has more than %d patterns",
                              TSRI_TEXT_NAME_PATTERNS);
    if (s->json.tree->status != TSR_OK || (!patterns && !rule))
        return;
    add_plain(out);
    add_named(out);
    if (rule)
        add_rule(out, rule);
    out->first = out->n;
    json_object_foreach((json_t *)patterns, pattern, value) {
        out->schemas[out->n_patterns++] = value;
        add_pattern(out, pattern);
    }
}

void tsri_text_names_close(tsri_text_names *names) {
    for (size_t i = 0; i < names->n; i++)
        tsri_text_tree_clear(&names->factors[i].tree);
}

static bool fits(tsri_text_names *n, const tsri_text_factor *factor, const char *name) {
    json_t *text = json_string(name);
    char *dumped = json_dumps(text, JSON_ENCODE_ANY);
    const bool has =
        dumped && tsri_text_factor_has(factor, dumped, strlen(dumped), &n->s->json.tree->status);
    json_decref(text);
    free(dumped);
    return has;
}

/* The schema that both of two are; a: NULL: b alone. */
static const json_t *both_of(tsri_text_names *n, const json_t *a, const json_t *b) {
    return a && n->s->json.tree->status == TSR_OK ? tsri_text_schema_join(n->s, a, b) : b;
}

bool tsri_text_names_value(tsri_text_names *n, const char *name, const json_t **schema) {
    bool allowed = !n->rule || fits(n, n->rule, name);
    for (size_t i = 0; i < n->n_patterns && allowed; i++) {
        if (!fits(n, &n->factors[n->first + i], name))
            continue;
        allowed = !json_is_false(n->schemas[i]);
        if (allowed)
            *schema = both_of(n, *schema, n->schemas[i]);
    }
    return allowed;
}

/* Names that match the patterns of `which`, a bit each, and no other, with their values; `any` where it is 0. */
static int32_t pairs_of(tsri_text_names *n, unsigned which, const json_t *any) {
    tsri_text_schema *s = n->s;
    const json_t *schema = which ? NULL : any;
    bool empty = false;
    for (size_t i = 0; i < n->n_patterns; i++) {
        const bool holds = which >> i & 1;
        n->factors[n->first + i].except = !holds;
        empty |= holds && json_is_false(n->schemas[i]);
        if (holds && !empty)
            schema = both_of(n, schema, n->schemas[i]);
    }
    if (empty)
        return 0;
    const int32_t names = tsri_text_product(s->json.tree, n->factors, n->n, &empty);
    return empty ? 0
                 : tsri_text_json_pair(
                       &s->json, names,
                       tsri_text_schema_part(
                           s, which ? "patternProperties" : "additionalProperties", NULL, schema));
}

int32_t tsri_text_names_further(tsri_text_names *n, const json_t *further) {
    tsri_text_schema *s = n->s;
    tsri_text_tree *t = s->json.tree;
    const json_t *any = further && !json_is_false(further) ? further : json_true();
    const bool others = further ? !json_is_false(further) : !n->properties && !n->n_patterns;
    int32_t all = 0;
    if (!n->n)
        return others ? tsri_text_json_pair(
                            &s->json, other_name(s, n->properties, n->required),
                            tsri_text_schema_part(s, "additionalProperties", NULL, any))
                      : 0;
    for (unsigned which = others ? 0 : 1; which < 1u << n->n_patterns && t->status == TSR_OK;
         which++) {
        const int32_t pairs = pairs_of(n, which, any);
        if (pairs)
            all = all ? tsri_text_choice(t, all, pairs) : pairs;
    }
    return all;
}
