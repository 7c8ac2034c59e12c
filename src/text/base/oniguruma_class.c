/* text/base/oniguruma_class.c - sets of characters: escapes, properties and classes of
 * Oniguruma. */
#include "text/base/oniguruma_parts.h"

#include "base/error.h"
#include "text/base/unicode.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 100 };

static const char space[] = "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}"
                            "\\x{202f}\\x{205f}\\x{3000}",
                  hex[] = "0-9A-Fa-f", digit[] = "\\p{Nd}";
/* Alphabetic characters, marks, digits and connectors. */
#define WORD                                                                                   \
    "\\p{L}\\p{Nl}\\p{M}\\p{Nd}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{" \
    "1f169}"                                                                                   \
    "\\x{1f170}-\\x{1f189}"
static const char word[] = WORD;
/* Outside of classes also the numbers of Latin 1, which Oniguruma has in a table of its own. */
const char tsri_text_onig_word[] = WORD "\\xb2\\xb3\\xb9\\xbc-\\xbe";
#undef WORD

static const struct {
    char letter;
    const char *content;
} letters[] = {{'d', digit}, {'s', space}, {'w', word}, {'h', hex}};

/* Names of properties, without blanks, "-" and "_", in small letters; what is not here is a
 * script. */
static const struct {
    const char *name, *content;
} properties[] = {
    {"any", "\\p{Any}"},
    {"ascii", "\\x00-\\x7f"},
    {"space", space},
    {"whitespace", space},
    {"word", word},
    {"digit", digit},
    {"xdigit", hex},
    {"alphabetic", "\\p{Alphabetic}\\x{363}-\\x{36f}"},
    {"alpha", "\\p{Alphabetic}\\x{363}-\\x{36f}"},
    {"uppercase", "\\p{Uppercase}"},
    {"lowercase", "\\p{Lowercase}"},
    {"emoji", "\\p{Emoji}"},
    {"emojipresentation", "\\p{Emoji_Presentation}"},
    {"emojimodifier", "\\p{Emoji_Modifier}"},
    {"extendedpictographic", "\\p{Extended_Pictographic}"},
    {"ideographic", "\\p{Ideographic}"},
    {"punct", "\\p{P}"},
    {"lc", "\\p{L&}"},
    {"casedletter", "\\p{L&}"},
    {"c", "\\p{C}"},
    {"other", "\\p{C}"},
    {"cc", "\\p{Cc}"},
    {"control", "\\p{Cc}"},
    {"cf", "\\p{Cf}"},
    {"format", "\\p{Cf}"},
    {"cn", "\\p{Cn}"},
    {"unassigned", "\\p{Cn}"},
    {"co", "\\p{Co}"},
    {"privateuse", "\\p{Co}"},
    {"l", "\\p{L}"},
    {"letter", "\\p{L}"},
    {"ll", "\\p{Ll}"},
    {"lowercaseletter", "\\p{Ll}"},
    {"lm", "\\p{Lm}"},
    {"modifierletter", "\\p{Lm}"},
    {"lo", "\\p{Lo}"},
    {"otherletter", "\\p{Lo}"},
    {"lt", "\\p{Lt}"},
    {"titlecaseletter", "\\p{Lt}"},
    {"lu", "\\p{Lu}"},
    {"uppercaseletter", "\\p{Lu}"},
    {"m", "\\p{M}"},
    {"mark", "\\p{M}"},
    {"combiningmark", "\\p{M}"},
    {"mc", "\\p{Mc}"},
    {"spacingmark", "\\p{Mc}"},
    {"me", "\\p{Me}"},
    {"enclosingmark", "\\p{Me}"},
    {"mn", "\\p{Mn}"},
    {"nonspacingmark", "\\p{Mn}"},
    {"n", "\\p{N}"},
    {"number", "\\p{N}"},
    {"nd", "\\p{Nd}"},
    {"decimalnumber", "\\p{Nd}"},
    {"nl", "\\p{Nl}"},
    {"letternumber", "\\p{Nl}"},
    {"no", "\\p{No}"},
    {"othernumber", "\\p{No}"},
    {"p", "\\p{P}"},
    {"punctuation", "\\p{P}"},
    {"pc", "\\p{Pc}"},
    {"connectorpunctuation", "\\p{Pc}"},
    {"pd", "\\p{Pd}"},
    {"dashpunctuation", "\\p{Pd}"},
    {"pe", "\\p{Pe}"},
    {"closepunctuation", "\\p{Pe}"},
    {"pf", "\\p{Pf}"},
    {"finalpunctuation", "\\p{Pf}"},
    {"pi", "\\p{Pi}"},
    {"initialpunctuation", "\\p{Pi}"},
    {"po", "\\p{Po}"},
    {"otherpunctuation", "\\p{Po}"},
    {"ps", "\\p{Ps}"},
    {"openpunctuation", "\\p{Ps}"},
    {"s", "\\p{S}"},
    {"symbol", "\\p{S}"},
    {"sc", "\\p{Sc}"},
    {"currencysymbol", "\\p{Sc}"},
    {"sk", "\\p{Sk}"},
    {"modifiersymbol", "\\p{Sk}"},
    {"sm", "\\p{Sm}"},
    {"mathsymbol", "\\p{Sm}"},
    {"so", "\\p{So}"},
    {"othersymbol", "\\p{So}"},
    {"z", "\\p{Z}"},
    {"separator", "\\p{Z}"},
    {"zl", "\\p{Zl}"},
    {"lineseparator", "\\p{Zl}"},
    {"zp", "\\p{Zp}"},
    {"paragraphseparator", "\\p{Zp}"},
    {"zs", "\\p{Zs}"},
    {"spaceseparator", "\\p{Zs}"},
};

/* Since 10.40, PCRE2 takes the bare name of a script for its extensions. */
static bool has_extensions(void) {
    char version[64] = "";
    int major = 0, minor = 0;
    pcre2_config(PCRE2_CONFIG_VERSION, version);
    sscanf(version, "%d.%d", &major, &minor);
    return major > 10 || minor >= 40;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads "{Name}" or "{^Name}" behind \p; *simple: the name as the table has it. */
static tsr_status read_name(tsri_text_onig *r, char *simple, size_t size, bool *negated) {
    const char *from = r->pattern + r->at, *end = memchr(from, '}', r->n - r->at);
    const size_t whole = end ? (size_t)(end - from) : 0;
    size_t kept = 0;
    for (size_t i = 1; i < whole; i++) {
        const char c = from[i];
        if (i == 1 && c == '^')
            *negated = !*negated;
        else if (is_letter(c) && kept + 1 < size)
            simple[kept++] = (char)(c | 0x20);
        else if (c != ' ' && c != '_' && c != '-')
            return tsri_text_onig_refuse(r, "this property");
    }
    simple[kept] = 0;
    if (!kept)
        return tsri_text_onig_refuse(r, "this property");
    r->at += whole + 1;
    return TSR_OK;
}

static tsr_status read_property(tsri_text_onig *r, bool negated, tsri_text_onig_set *set) {
    char name[64];
    TRY(read_name(r, name, sizeof name, &negated));
    set->negated = negated;
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        if (strcmp(properties[i].name, name) != 0)
            continue;
        set->content = properties[i].content;
        return TSR_OK;
    }
    snprintf(set->property, sizeof set->property, "\\p{%s%s}", has_extensions() ? "sc:" : "", name);
    set->content = set->property;
    return TSR_OK;
}

tsr_status tsri_text_onig_set_escape(tsri_text_onig *r, tsri_text_onig_set *set, bool *found) {
    *found = false;
    const char c = r->at + 1 < r->n ? r->pattern[r->at + 1] : 0;
    *set = (tsri_text_onig_set){0};
    if ((c == 'p' || c == 'P') && r->at + 2 < r->n && r->pattern[r->at + 2] == '{') {
        *found = true;
        r->at += 2;
        return read_property(r, c == 'P', set);
    }
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        if (!is_letter(c) || letters[i].letter != (c | 0x20))
            continue;
        *set = (tsri_text_onig_set){.content = letters[i].content, .negated = c < 'a'};
        *found = true;
        r->at += 2;
    }
    return TSR_OK;
}

tsr_status tsri_text_onig_put_set(const tsri_text_onig_set *set, tsri_bytes *out) {
    return tsri_base_bytes_printf(out, "[%s%s]", set->negated ? "^" : "", set->content);
}

tsr_status tsri_text_onig_put_code(int32_t code, tsri_bytes *out) {
    const bool plain = code < 0x80 && (is_letter((char)code) || (code >= '0' && code <= '9'));
    return plain ? tsri_base_bytes_append(out, &(char){(char)code}, 1)
                 : tsri_base_bytes_printf(out, "\\x{%x}", (unsigned)code);
}

bool tsri_text_onig_folds(int32_t first, int32_t last) {
    static const struct {
        int32_t first, last;
    } folding[] = {{0xDF, 0xDF},     {0x130, 0x130},  {0x149, 0x149}, {0x1F0, 0x1F0},
                   {0x2BC, 0x2BE},   {0x300, 0x345},  {0x390, 0x390}, {0x399, 0x399},
                   {0x3B0, 0x3B0},   {0x3B9, 0x3B9},  {0x531, 0x587}, {0x1E96, 0x1E9E},
                   {0x1F50, 0x1FFC}, {0xFB00, 0xFB17}};
    for (size_t i = 0; i < sizeof folding / sizeof *folding; i++)
        if (first <= folding[i].last && last >= folding[i].first)
            return true;
    return false;
}

/* One operand of a class: what PCRE2 takes in one class, and alternatives to it. */
typedef struct operand {
    tsri_bytes plain, others; /* each of the others behind a "|" */
} operand;

static tsr_status put_operand(const operand *o, bool negated, tsri_bytes *out) {
    const char *plain = o->plain.size ? o->plain.data : "", *others = o->others.data;
    const char *const class = o->plain.size ? "[" : "", *const end = o->plain.size ? "]" : "";
    if (!o->others.size)
        return tsri_base_bytes_printf(out, "[%s%s]", negated ? "^" : "", plain);
    return tsri_base_bytes_printf(out, "(?:%s%s%s%s%s%s)", negated ? "(?!" : "", class, plain, end,
                                  o->plain.size ? others : others + 1, negated ? ")(?s:.)" : "");
}

/* Ends an operand: it becomes a look ahead in `tests`. */
static tsr_status end_operand(const tsri_text_onig *r, operand *o, tsri_bytes *tests) {
    if (!o->plain.size && !o->others.size)
        return tsri_text_onig_refuse(r, "an empty side of &&");
    TRY(tsri_base_bytes_append(tests, "(?=", 3));
    TRY(put_operand(o, false, tests));
    o->plain.size = o->others.size = 0;
    return tsri_base_bytes_append(tests, ")", 1);
}

/* A caseless class takes the characters that its own fold to, also several at once. */
static tsr_status add_set(const tsri_text_onig *r, const tsri_text_onig_set *set, bool negated,
                          operand *o) {
    const bool property = !strncmp(set->content, "\\p{", 3) && !strchr(set->content + 3, '\\');
    const bool letters = set->negated || (set->content != digit && set->content != space);
    if (r->caseless && property && strstr("\\p{Lu}\\p{Ll}\\p{Lt}", set->content))
        return tsri_text_onig_refuse(r, "a property of case in a caseless class");
    if (r->caseless && !negated && letters)
        return tsri_text_onig_refuse(r, "a set of letters in a caseless class");
    if (!set->negated)
        return tsri_base_bytes_printf(&o->plain, "%s", set->content);
    if (property)
        return tsri_base_bytes_printf(&o->plain, "\\P%s", set->content + 2);
    return tsri_base_bytes_printf(&o->others, "|[^%s]", set->content);
}

/* [:name:] or [:^name:] at the place; *found: it is one. */
static tsr_status posix(tsri_text_onig *r, bool of_negated, operand *o, bool *found) {
    static const struct {
        const char *name, *content;
    } names[] = {{"space", space},
                 {"digit", digit},
                 {"xdigit", hex},
                 {"word", word},
                 {"punct", "\\p{P}\\p{S}"},
                 {"ascii", "\\x00-\\x7f"},
                 {"alpha", "\\p{Alphabetic}\\x{363}-\\x{36f}"}};
    const char *from = r->pattern + r->at, *end = memmem(from, r->n - r->at, ":]", 2);
    *found = false;
    if (!tsri_text_onig_takes(r, "[:"))
        return TSR_OK;
    const bool negated = tsri_text_onig_takes(r, "^");
    const char *name = r->pattern + r->at;
    for (size_t i = 0; end && i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) != (size_t)(end - name) ||
            strncmp(names[i].name, name, strlen(names[i].name)) != 0)
            continue;
        *found = true;
        r->at += strlen(names[i].name) + 2;
        return add_set(r, &(tsri_text_onig_set){.content = names[i].content, .negated = negated},
                       of_negated, o);
    }
    return tsri_text_onig_refuse(r, "this bracket");
}

/* One character of a class. */
static tsr_status read_code(tsri_text_onig *r, int32_t *code) {
    if (r->at >= r->n)
        return tsri_text_onig_refuse(r, "a class without an end");
    if (r->pattern[r->at] == '\\')
        return tsri_text_onig_code_escape(r, true, code);
    r->at += tsri_text_utf8_next(r->pattern + r->at, r->n - r->at, code);
    return TSR_OK;
}

static bool next_is(const tsri_text_onig *r, const char *text) {
    const size_t n = strlen(text);
    return r->n - r->at >= n && !memcmp(r->pattern + r->at, text, n);
}

/* A character or a range of them. */
static tsr_status add_codes(tsri_text_onig *r, bool negated, operand *o) {
    tsri_text_onig_set set;
    int32_t first, last;
    bool found = false;
    TRY(read_code(r, &first));
    last = first;
    if (next_is(r, "-") && !next_is(r, "-]") && !next_is(r, "-[") && !next_is(r, "-&&")) {
        r->at++;
        if (next_is(r, "\\"))
            TRY(tsri_text_onig_set_escape(r, &set, &found));
        if (found)
            return tsri_text_onig_refuse(r, "a range that ends with a set");
        TRY(read_code(r, &last));
    }
    if (last < first)
        return tsri_text_onig_refuse(r, "a range from a higher to a lower character");
    if (r->caseless && !negated && tsri_text_onig_folds(first, last))
        return tsri_text_onig_refuse(
            r, "a caseless class with a character that stands for several, as \xC3\x9F for ss");
    TRY(tsri_text_onig_put_code(first, &o->plain));
    if (last == first)
        return TSR_OK;
    TRY(tsri_base_bytes_append(&o->plain, "-", 1));
    return tsri_text_onig_put_code(last, &o->plain);
}

static tsr_status add_item(tsri_text_onig *r, bool negated, operand *o) {
    tsri_text_onig_set set;
    bool found = false;
    TRY(posix(r, negated, o, &found));
    if (found)
        return TSR_OK;
    if (next_is(r, "[")) {
        TRY(tsri_base_bytes_append(&o->others, "|", 1));
        return tsri_text_onig_class(r, &o->others);
    }
    if (next_is(r, "\\"))
        TRY(tsri_text_onig_set_escape(r, &set, &found));
    if (!found)
        return add_codes(r, negated, o);
    if (next_is(r, "-") && !next_is(r, "-]"))
        return tsri_text_onig_refuse(r, "a range that begins with a set");
    return add_set(r, &set, negated, o);
}

static tsr_status read_items(tsri_text_onig *r, bool negated, operand *o, tsri_bytes *tests) {
    for (bool first = true;; first = false) {
        if (r->at >= r->n)
            return tsri_text_onig_refuse(r, "a class without an end");
        if (tsri_text_onig_takes(r, "&&")) {
            TRY(end_operand(r, o, tests));
            continue;
        }
        if (!first && tsri_text_onig_takes(r, "]"))
            return TSR_OK;
        TRY(add_item(r, negated, o));
    }
}

static tsr_status put_class(const tsri_text_onig *r, bool negated, operand *o, tsri_bytes *tests,
                            tsri_bytes *out) {
    if (!tests->size)
        return put_operand(o, negated, out);
    TRY(end_operand(r, o, tests));
    return negated ? tsri_base_bytes_printf(out, "(?:(?!%s)(?s:.))", tests->data)
                   : tsri_base_bytes_printf(out, "(?:%s(?s:.))", tests->data);
}

tsr_status tsri_text_onig_class(tsri_text_onig *r, tsri_bytes *out) {
    operand o = {{0}, {0}};
    tsri_bytes tests = {0};
    if (++r->depth > DEEPEST)
        return tsri_text_onig_refuse(r, "nesting this deep");
    r->at++;
    const bool negated = tsri_text_onig_takes(r, "^");
    tsr_status status = read_items(r, negated, &o, &tests);
    if (status == TSR_OK)
        status = put_class(r, negated, &o, &tests, out);
    r->depth--;
    tsri_base_bytes_clear(&o.plain);
    tsri_base_bytes_clear(&o.others);
    tsri_base_bytes_clear(&tests);
    return status;
}
