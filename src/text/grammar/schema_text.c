/* text/grammar/schema_text.c - texts of JSON schemas: their length, pattern and format. */
#include "text/grammar/product.h"
#include "text/grammar/schema.h"

#include <string.h>

/* ---- formats ---- */

#define DAY "(0[1-9]|1[0-9]|2[0-8])"
#define DATE                                                                      \
    "(([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)-((0[1-9]|1[0-2])-" DAY \
    "|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"                              \
    "|([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29)"
#define TIME                                                                                       \
    "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]" \
    ")"

/* RFC 3339, appendix A */
#define N "[0-9]{1,9}"
#define OF_DAY "T(" N "H(" N "M(" N "S)?)?|" N "M(" N "S)?|" N "S)"
#define DAYS "(" N "Y(" N "M(" N "D)?)?|" N "M(" N "D)?|" N "D)"

#define BYTE "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define IPV4 BYTE "(\\." BYTE "){3}"
/* RFC 4291, section 2.2: eight groups, or fewer around one :: */
#define H "[0-9a-fA-F]{1,4}"
#define IPV6                                                                                \
    "((" H ":){7}" H "|(" H ":){1,7}:|(" H ":){1,6}:" H "|(" H ":){1,5}(:" H "){1,2}|(" H   \
    ":){1,4}(:" H "){1,3}|(" H ":){1,3}(:" H "){1,4}|(" H ":){1,2}(:" H "){1,5}|" H ":(:" H \
    "){1,6}|:(:" H "){1,7}|::)"
/* RFC 1123: up to 63 letters, digits and hyphens a label, 253 in all. No two hyphens in a row, as names of other
 * scripts have (xn--). */
#define LABEL "[A-Za-z0-9]{1,12}(-[A-Za-z0-9]{1,12}){0,2}"
#define HOST LABEL "(\\." LABEL "){0,5}"
/* RFC 3986 */
#define PORT "(:[1-9][0-9]{0,3})?"
#define IN_PATH "([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
#define URI                                                                                      \
    "[A-Za-z][A-Za-z0-9+.-]{0,15}:(//(" HOST "|\\[" IPV6 "\\])" PORT "(/" IN_PATH "*)*|" IN_PATH \
    "+(/" IN_PATH "*)*)(\\?(" IN_PATH "|[/?])*)?(#(" IN_PATH "|[/?])*)?"

static const struct {
    const char *name, *pattern;
} formats[] = {
    {"date", "^" DATE "$"},
    {"time", "^" TIME "$"},
    {"date-time", "^" DATE "T" TIME "$"},
    {"duration", "^P(" N "W|" DAYS "(" OF_DAY ")?|" OF_DAY ")$"},
    {"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
    {"email", "^[A-Za-z0-9_+-]{1,32}(\\.[A-Za-z0-9_+-]{1,16}){0,2}@" LABEL "(\\." LABEL "){1,3}$"},
    {"hostname", "^" HOST "$"},
    {"ipv4", "^" IPV4 "$"},
    {"ipv6", "^" IPV6 "$"},
    {"uri", "^" URI "$"},
    {"uri-reference", "^" URI "$"},
    {"iri", "^" URI "$"},
    {"iri-reference", "^" URI "$"},
};

static const char *format_pattern(tsri_text_schema *s, const char *format) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].name, format))
            return formats[i].pattern;
    tsri_text_schema_fail(s, TSR_E_UNSUPPORTED,
                          "the format \"%.40s\" is not served (date, time, date-time, duration, "
                          "uuid, email, hostname, ipv4, ipv6 and uri are): leave it out, or write "
                          "a pattern",
                          format);
    return NULL;
}

/* ---- texts ---- */

/* What a text is held to: each may be missing. */
typedef struct rules {
    const char *patterns[2]; /* its own, and its format's */
    size_t n;
    bool has_length;
    int32_t least, most;
} rules;

static int32_t length_of(tsri_text_json *j, const rules *r) {
    return tsri_text_json_characters(j, r->least, r->most);
}

/* The content of a text, by rule i: a pattern, or behind those the length. */
static int32_t one_rule(tsri_text_json *j, const rules *r, size_t i) {
    return i < r->n ? tsri_text_json_pattern(j, r->patterns[i], strlen(r->patterns[i]))
                    : length_of(j, r);
}

static int32_t all_rules(tsri_text_schema *s, const rules *r) {
    static const char name[] = "a rule of a text";
    tsri_text_factor factors[3] = {0};
    const size_t n = r->n + r->has_length;
    bool empty;
    for (size_t i = 0; i < n; i++) {
        tsri_text_json j = {.tree = &factors[i].tree};
        const int32_t rule = tsri_text_rule_new(j.tree, name, sizeof name - 1);
        tsri_text_rule_set(j.tree, rule, one_rule(&j, r, i));
    }
    const int32_t all = tsri_text_product(s->json.tree, factors, n, &empty);
    for (size_t i = 0; i < n; i++)
        tsri_text_tree_clear(&factors[i].tree);
    return empty ? tsri_text_schema_fail(
                       s, TSR_E_ARGUMENT,
                       "no text has its \"pattern\", \"format\" and length at the same time")
                 : all;
}

int32_t tsri_text_schema_text(tsri_text_schema *s, const json_t *schema) {
    const json_t *own = json_object_get(schema, "pattern"),
                 *named = json_object_get(schema, "format");
    const char *pattern = tsri_text_schema_word(own), *format = tsri_text_schema_word(named);
    rules r = {.least = tsri_text_schema_count(s, schema, "minLength", 0),
               .most = tsri_text_schema_count(s, schema, "maxLength", -1)};
    r.has_length = r.least > 0 || r.most >= 0;
    if ((own && !pattern) || (named && !format))
        return tsri_text_schema_fail(s, TSR_E_ARGUMENT,
                                     "\"pattern\" and \"format\" are texts without a 0 byte, which "
                                     "a pattern writes as \\x00");
    if (r.most >= 0 && r.least > r.most)
        return tsri_text_schema_fail(s, TSR_E_ARGUMENT, "\"minLength\" is above \"maxLength\"");
    if (pattern)
        r.patterns[r.n++] = pattern;
    if (format)
        r.patterns[r.n++] = format_pattern(s, format);
    if (s->json.tree->status != TSR_OK)
        return 0;
    if (!r.n && !r.has_length)
        return tsri_text_json_string(&s->json);
    return tsri_text_json_quoted(&s->json, r.n + r.has_length > 1 ? all_rules(s, &r)
                                                                  : one_rule(&s->json, &r, 0));
}
