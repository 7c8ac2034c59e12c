/* text/grammar/pattern.c - regular expressions of ECMAScript, as the keyword "pattern" of a JSON schema has
 * them: texts, classes, groups, choices, repetitions, and ^ and $ at the two ends. */
#include "text/grammar/json.h"

#include "base/error.h"
#include "text/base/unicode.h"

#include <string.h>

enum { MOST_RANGES = 60, MOST_REPEATS = 1 << 16, MOST_GROUPS = 64 };

typedef struct reader {
    const char *text, *at, *end;
    tsri_text_json *j;
    int groups;
} reader;

/* Ranges of one class. */
typedef struct set {
    tsri_text_characters ranges[MOST_RANGES];
    size_t n;
} set;

static bool is(const reader *r, char c) {
    return r->at < r->end && *r->at == c;
}

/* Keeps a failure; returns nothing of use. */
static int32_t refuse(reader *r, tsr_status status, const char *why) {
    tsri_text_tree *t = r->j->tree;
    if (t->status == TSR_OK)
        t->status = tsri_base_fail(status, "the pattern \"%.80s\", character %zu: %s", r->text,
                                   (size_t)(r->at - r->text) + 1, why);
    r->at = r->end;
    return 0;
}

static void add(reader *r, set *s, int32_t first, int32_t last) {
    if (s->n == MOST_RANGES)
        refuse(r, TSR_E_ARGUMENT, "the class has more than 60 ranges");
    else if (last < first)
        refuse(r, TSR_E_ARGUMENT, "a range ends before it begins");
    else
        s->ranges[s->n++] = (tsri_text_characters){first, last};
}

/* What \d, \w and \s stand for, and their opposites. */
static bool add_named(reader *r, set *s, char name) {
    static const tsri_text_characters digits[] = {{'0', '9'}},
                                      word[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
                                      space[] = {{9, 13},          {' ', ' '},
                                                 {0xA0, 0xA0},     {0x1680, 0x1680},
                                                 {0x2000, 0x200A}, {0x2028, 0x2029},
                                                 {0x202F, 0x202F}, {0x205F, 0x205F},
                                                 {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    const char small = name >= 'A' && name <= 'Z' ? (char)(name - 'A' + 'a') : name;
    const tsri_text_characters *ranges = small == 'd' ? digits : small == 'w' ? word : space;
    const size_t n = small == 'd' ? 1 : small == 'w' ? 4 : 10;
    int32_t next = 0;
    if (small != 'd' && small != 'w' && small != 's')
        return false;
    for (size_t i = 0; i < n; i++) {
        if (small == name)
            add(r, s, ranges[i].first, ranges[i].last);
        else if (next < ranges[i].first)
            add(r, s, next, ranges[i].first - 1);
        next = ranges[i].last + 1;
    }
    if (small != name)
        add(r, s, next, 0x10FFFF);
    return true;
}

static int32_t read_hex(reader *r, size_t digits) {
    int32_t value = 0;
    size_t i = 0;
    for (; i < digits && r->at < r->end; i++, r->at++) {
        const char c = *r->at;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            break;
        value = value << 4 | digit;
    }
    return i == digits ? value : refuse(r, TSR_E_ARGUMENT, "a hexadecimal digit is wanted");
}

/* One character; what stands behind a \ that is not a class. */
static int32_t read_escaped(reader *r) {
    static const char named[] = "n\nr\rt\tf\fv\v";
    const char c = *r->at++;
    if (c == 'x')
        return read_hex(r, 2);
    if (c == 'u' && !is(r, '{')) {
        const int32_t value = read_hex(r, 4);
        return value >= 0xD800 && value < 0xE000
                   ? refuse(r, TSR_E_UNSUPPORTED, "halves of surrogate pairs are not served")
                   : value;
    }
    for (size_t i = 0; named[i]; i += 2)
        if (named[i] == c)
            return named[i + 1];
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        r->at--;
        return refuse(r, TSR_E_UNSUPPORTED,
                      "this escape is not served (\\d \\D \\w \\W \\s \\S \\n \\r \\t \\f \\v "
                      "\\xHH \\uHHHH and signs are)");
    }
    r->at--;
    int32_t sign;
    r->at += tsri_text_utf8_next(r->at, (size_t)(r->end - r->at), &sign);
    return sign;
}

/* A member of a class. False: it was a named class. */
static bool read_member(reader *r, set *s, int32_t *c) {
    if (!is(r, '\\')) {
        r->at += tsri_text_utf8_next(r->at, (size_t)(r->end - r->at), c);
        return true;
    }
    r->at++;
    if (r->at == r->end) {
        refuse(r, TSR_E_ARGUMENT, "a \\ ends it");
        return false;
    }
    if (add_named(r, s, *r->at)) {
        r->at++;
        return false;
    }
    *c = is(r, 'b') ? '\b' : 0;
    if (*c)
        r->at++;
    else
        *c = read_escaped(r);
    return true;
}

static int32_t read_class(reader *r) {
    set s = {.n = 0};
    const bool except = is(r, '^');
    r->at += except;
    while (r->at < r->end && !is(r, ']')) {
        int32_t first, last;
        if (!read_member(r, &s, &first))
            continue;
        last = first;
        if (is(r, '-') && r->end - r->at > 1 && r->at[1] != ']') {
            r->at++;
            if (!read_member(r, &s, &last))
                return refuse(r, TSR_E_ARGUMENT, "a range ends with a class");
        }
        add(r, &s, first, last);
    }
    if (!is(r, ']'))
        return refuse(r, TSR_E_ARGUMENT, "a ] is wanted");
    r->at++;
    return tsri_text_json_class(r->j, s.ranges, s.n, except);
}

static int32_t read_choice(reader *r);

static int32_t read_group(reader *r) {
    if (is(r, '?')) {
        if (r->end - r->at < 2 || r->at[1] != ':')
            return refuse(r, TSR_E_UNSUPPORTED,
                          "of groups with a ?, only (?:...) is served: no looking ahead or behind, "
                          "and no names");
        r->at += 2;
    }
    if (++r->groups > MOST_GROUPS)
        return refuse(r, TSR_E_ARGUMENT, "more than 64 groups are open");
    const int32_t inner = read_choice(r);
    if (!is(r, ')'))
        return refuse(r, TSR_E_ARGUMENT, "a ) is wanted");
    r->at++;
    r->groups--;
    return inner;
}

static int32_t read_atom(reader *r) {
    static const tsri_text_characters line_ends[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
    set s = {.n = 0};
    int32_t c;
    if (strchr("*+?{", *r->at))
        return refuse(r, TSR_E_ARGUMENT, "there is nothing to be repeated");
    if (is(r, '\\') && r->end - r->at > 1 && r->at[1] == 'b')
        return refuse(r, TSR_E_UNSUPPORTED, "\\b is not served");
    if (strchr("^$", *r->at))
        return refuse(r, TSR_E_UNSUPPORTED, "^ and $ are served at the two ends alone");
    if (is(r, '(')) {
        r->at++;
        return read_group(r);
    }
    if (is(r, '[')) {
        r->at++;
        return read_class(r);
    }
    if (is(r, '.')) {
        r->at++;
        return tsri_text_json_class(r->j, line_ends, 3, true);
    }
    if (read_member(r, &s, &c))
        add(r, &s, c, c);
    return tsri_text_json_class(r->j, s.ranges, s.n, false);
}

static int32_t read_number(reader *r) {
    int32_t n = 0;
    if (!(r->at < r->end && *r->at >= '0' && *r->at <= '9'))
        return refuse(r, TSR_E_ARGUMENT, "a number of repetitions is wanted");
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if ((n = n * 10 + (*r->at - '0')) > MOST_REPEATS)
            return refuse(r, TSR_E_ARGUMENT, "more than 65536 repetitions");
    return n;
}

static int32_t read_repeats(reader *r, int32_t item) {
    if (r->at == r->end || !strchr("*+?{", *r->at))
        return item;
    int32_t least = *r->at == '+', most = *r->at == '?' ? 1 : -1;
    if (*r->at++ == '{') {
        least = most = read_number(r);
        if (is(r, ',')) {
            r->at++;
            most = is(r, '}') ? -1 : read_number(r);
        }
        if (!is(r, '}') || (most >= 0 && most < least))
            return refuse(r, TSR_E_ARGUMENT, "a } is wanted, and no fewer at most than at least");
        r->at++;
    }
    r->at += is(r, '?'); /* "as few as possible" matches the same texts */
    if (r->at < r->end && strchr("*+?{", *r->at))
        return refuse(r, TSR_E_ARGUMENT, "there is nothing to be repeated");
    return tsri_text_repeat(r->j->tree, item, least, most);
}

static int32_t read_sequence(reader *r) {
    tsri_text_tree *t = r->j->tree;
    int32_t all = tsri_text_literal(t, "", 0);
    while (r->at < r->end && !is(r, '|') && !is(r, ')') &&
           !(is(r, '$') && !r->groups && (r->end - r->at == 1 || r->at[1] == '|')))
        all = tsri_text_sequence(t, all, read_repeats(r, read_atom(r)));
    return all;
}

/* Outside groups, what is not held by ^ or $ may be anywhere in the text. */
static int32_t read_alternative(reader *r) {
    tsri_text_tree *t = r->j->tree;
    if (r->groups)
        return read_sequence(r);
    const bool begins = is(r, '^');
    r->at += begins;
    int32_t all = read_sequence(r);
    const bool ends = is(r, '$');
    r->at += ends;
    if (!begins)
        all = tsri_text_sequence(t, tsri_text_json_characters(r->j, 0, -1), all);
    return ends ? all : tsri_text_sequence(t, all, tsri_text_json_characters(r->j, 0, -1));
}

static int32_t read_choice(reader *r) {
    int32_t all = read_alternative(r);
    while (is(r, '|')) {
        r->at++;
        all = tsri_text_choice(r->j->tree, all, read_alternative(r));
    }
    return all;
}

int32_t tsri_text_json_pattern(tsri_text_json *j, const char *pattern, size_t n) {
    reader r = {.text = pattern, .at = pattern, .end = pattern + n, .j = j};
    const int32_t all = read_choice(&r);
    if (r.at < r.end)
        refuse(&r, TSR_E_ARGUMENT, "a ( is missing");
    return all;
}
