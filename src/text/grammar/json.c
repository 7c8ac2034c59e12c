/* text/grammar/json.c - the expressions of JSON texts. */
#include "text/grammar/json.h"

#include <stdio.h>
#include <string.h>

enum { DIGITS = 16, BLANKS = 20 };

int32_t tsri_text_word(tsri_text_tree *tree, const char *word) {
    return tsri_text_literal(tree, word, strlen(word));
}

static int32_t begin(tsri_text_json *j, int32_t *rule, const char *name) {
    return *rule = tsri_text_rule_new(j->tree, name, strlen(name));
}

static int32_t one_of(tsri_text_tree *t, int32_t first, int32_t last) {
    const tsri_text_characters range = {first, last};
    return tsri_text_class(t, &range, 1, false);
}

int32_t tsri_text_json_space(tsri_text_json *j) {
    static const tsri_text_characters blanks[] = {{' ', ' '}, {'\t', '\t'}};
    tsri_text_tree *t = j->tree;
    if (!j->space) {
        const int32_t rule = begin(j, &j->space, "space"), line = tsri_text_word(t, "\n"),
                      indent = tsri_text_repeat(t, tsri_text_class(t, blanks, 2, false), 0, BLANKS),
                      some = tsri_text_choice(t, tsri_text_word(t, " "),
                                              tsri_text_sequence(t, line, indent));
        tsri_text_rule_set(t, rule, tsri_text_repeat(t, some, 0, 1));
    }
    return tsri_text_call(t, j->space);
}

int32_t tsri_text_json_comma(tsri_text_json *j) {
    return tsri_text_sequence(j->tree, tsri_text_word(j->tree, ","), tsri_text_json_space(j));
}

/* ---- strings ---- */

static int32_t hex(tsri_text_tree *t, const tsri_text_characters *first, size_t n, int32_t more) {
    static const tsri_text_characters digits[] = {{'0', '9'}, {'a', 'f'}, {'A', 'F'}};
    return tsri_text_sequence(
        t, tsri_text_class(t, first, n, false),
        tsri_text_repeat(t, tsri_text_class(t, digits, 3, false), more, more));
}

/* \u and four digits; of surrogates, both of a pair. */
static int32_t escaped_by_number(tsri_text_tree *t) {
    static const tsri_text_characters other[] = {
        {'0', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}};
    static const tsri_text_characters d[] = {{'d', 'd'}, {'D', 'D'}}, below[] = {{'0', '7'}},
                                      high[] = {{'8', '9'}, {'a', 'b'}, {'A', 'B'}},
                                      low[] = {{'c', 'f'}, {'C', 'F'}};
    const int32_t of_d = tsri_text_class(t, d, 2, false);
    const int32_t second = tsri_text_sequence(
        t, tsri_text_sequence(t, tsri_text_word(t, "\\u"), of_d), hex(t, low, 2, 2));
    const int32_t pair = tsri_text_sequence(t, hex(t, high, 3, 2), second);
    const int32_t after_d = tsri_text_choice(t, hex(t, below, 1, 2), pair);
    return tsri_text_sequence(
        t, tsri_text_word(t, "u"),
        tsri_text_choice(t, hex(t, other, 5, 3), tsri_text_sequence(t, of_d, after_d)));
}

static int32_t character(tsri_text_json *j) {
    static const tsri_text_characters not_plain[] = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
    static const char escapes[] = "\"\\/bfnrt";
    tsri_text_characters letters[sizeof escapes - 1];
    tsri_text_tree *t = j->tree;
    for (size_t i = 0; i < sizeof escapes - 1; i++)
        letters[i] = (tsri_text_characters){escapes[i], escapes[i]};
    const int32_t after = tsri_text_choice(
        t, tsri_text_class(t, letters, sizeof escapes - 1, false), escaped_by_number(t));
    return tsri_text_choice(t, tsri_text_class(t, not_plain, 3, true),
                            tsri_text_sequence(t, tsri_text_word(t, "\\"), after));
}

int32_t tsri_text_json_characters(tsri_text_json *j, int32_t least, int32_t most) {
    if (least == 0 && most < 0)
        return tsri_text_repeat(j->tree, character(j), 0, -1);
    if (!j->character)
        tsri_text_rule_set(j->tree, begin(j, &j->character, "character"), character(j));
    return tsri_text_repeat(j->tree, tsri_text_call(j->tree, j->character), least, most);
}

int32_t tsri_text_json_quoted(tsri_text_json *j, int32_t content) {
    const int32_t quote = tsri_text_word(j->tree, "\"");
    return tsri_text_sequence(j->tree, tsri_text_sequence(j->tree, quote, content), quote);
}

int32_t tsri_text_json_string(tsri_text_json *j) {
    if (!j->string) {
        const int32_t rule = begin(j, &j->string, "string");
        tsri_text_rule_set(j->tree, rule,
                           tsri_text_json_quoted(j, tsri_text_json_characters(j, 0, -1)));
    }
    return tsri_text_call(j->tree, j->string);
}

static bool holds(const tsri_text_characters *ranges, size_t n, int32_t c) {
    bool found = false;
    for (size_t i = 0; i < n; i++)
        found |= ranges[i].first <= c && c <= ranges[i].last;
    return found;
}

/* The characters of the ranges that need no escape. */
static int32_t plain_class(tsri_text_json *j, const tsri_text_characters *ranges, size_t n,
                           bool except) {
    static const tsri_text_characters plain[] = {
        {0x20, '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, 0x10FFFF}};
    enum { PLAIN = sizeof plain / sizeof *plain };
    tsri_text_tree *t = j->tree;
    int32_t all = tsri_text_class(t, NULL, 0, false);
    for (size_t i = 0; i < n && !except; i++)
        for (size_t k = 0; k < PLAIN; k++) {
            const int32_t first =
                              ranges[i].first > plain[k].first ? ranges[i].first : plain[k].first,
                          last = ranges[i].last < plain[k].last ? ranges[i].last : plain[k].last;
            if (first <= last)
                all = tsri_text_choice(t, all, one_of(t, first, last));
        }
    if (!except)
        return all;
    tsri_text_characters more[64 + 3] = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
    size_t m = 3;
    for (size_t i = 0; i < n && m < sizeof more / sizeof *more; i++)
        more[m++] = ranges[i];
    return tsri_text_class(t, more, m, true);
}

int32_t tsri_text_json_class(tsri_text_json *j, const tsri_text_characters *ranges, size_t n,
                             bool except) {
    static const char special[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    tsri_text_tree *t = j->tree;
    int32_t all = plain_class(j, ranges, n, except);
    for (int32_t c = 0; c <= '\\'; c = c < 0x1F ? c + 1 : c < '"' ? '"' : c == '"' ? '\\' : 0x7F) {
        char escape[8] = {0};
        if (holds(ranges, n, c) == except)
            continue;
        snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c);
        for (size_t i = 0; special[i]; i += 2)
            if (special[i] == c)
                snprintf(escape, sizeof escape, "\\%c", special[i + 1]);
        all = tsri_text_choice(t, all, tsri_text_word(t, escape));
    }
    return all;
}

/* ---- other values ---- */

int32_t tsri_text_json_number(tsri_text_json *j) {
    tsri_text_tree *t = j->tree;
    if (!j->number) {
        static const tsri_text_characters e[] = {{'e', 'e'}, {'E', 'E'}},
                                          signs[] = {{'+', '+'}, {'-', '-'}};
        const int32_t rule = begin(j, &j->number, "number"), digit = one_of(t, '0', '9');
        const int32_t minus = tsri_text_repeat(t, tsri_text_word(t, "-"), 0, 1);
        const int32_t whole = tsri_text_choice(
            t, tsri_text_word(t, "0"),
            tsri_text_sequence(t, one_of(t, '1', '9'), tsri_text_repeat(t, digit, 0, DIGITS - 1)));
        const int32_t fraction =
            tsri_text_sequence(t, tsri_text_word(t, "."), tsri_text_repeat(t, digit, 1, DIGITS));
        const int32_t sign = tsri_text_repeat(t, tsri_text_class(t, signs, 2, false), 0, 1);
        const int32_t exponent =
            tsri_text_sequence(t, tsri_text_sequence(t, tsri_text_class(t, e, 2, false), sign),
                               tsri_text_repeat(t, digit, 1, 2));
        tsri_text_rule_set(
            t, rule,
            tsri_text_sequence(t,
                               tsri_text_sequence(t, tsri_text_sequence(t, minus, whole),
                                                  tsri_text_repeat(t, fraction, 0, 1)),
                               tsri_text_repeat(t, exponent, 0, 1)));
    }
    return tsri_text_call(t, j->number);
}

int32_t tsri_text_json_enclosed(tsri_text_json *j, char open, int32_t content, char close,
                                bool may_be_empty) {
    tsri_text_tree *t = j->tree;
    const int32_t inner = tsri_text_sequence(t, content, tsri_text_json_space(j)),
                  begun = tsri_text_sequence(t, tsri_text_literal(t, &open, 1),
                                             tsri_text_json_space(j));
    return tsri_text_sequence(
        t, tsri_text_sequence(t, begun, tsri_text_repeat(t, inner, !may_be_empty, 1)),
        tsri_text_literal(t, &close, 1));
}

int32_t tsri_text_json_pair(tsri_text_json *j, int32_t name, int32_t value) {
    tsri_text_tree *t = j->tree;
    const int32_t colon = tsri_text_sequence(t, tsri_text_word(t, ":"), tsri_text_json_space(j));
    return tsri_text_sequence(t, tsri_text_sequence(t, name, colon), value);
}

int32_t tsri_text_json_list(tsri_text_json *j, int32_t item, int32_t least, int32_t most) {
    tsri_text_tree *t = j->tree;
    const int32_t next = tsri_text_sequence(t, tsri_text_json_comma(j), item);
    return tsri_text_sequence(t, item,
                              tsri_text_repeat(t, next, least - 1, most < 0 ? -1 : most - 1));
}

int32_t tsri_text_json_object(tsri_text_json *j) {
    if (!j->object) {
        const int32_t rule = begin(j, &j->object, "object"),
                      pair =
                          tsri_text_json_pair(j, tsri_text_json_string(j), tsri_text_json_value(j));
        tsri_text_rule_set(
            j->tree, rule,
            tsri_text_json_enclosed(j, '{', tsri_text_json_list(j, pair, 1, -1), '}', true));
    }
    return tsri_text_call(j->tree, j->object);
}

int32_t tsri_text_json_array(tsri_text_json *j) {
    if (!j->array) {
        const int32_t rule = begin(j, &j->array, "array");
        tsri_text_rule_set(
            j->tree, rule,
            tsri_text_json_enclosed(j, '[', tsri_text_json_list(j, tsri_text_json_value(j), 1, -1),
                                    ']', true));
    }
    return tsri_text_call(j->tree, j->array);
}

int32_t tsri_text_json_value(tsri_text_json *j) {
    tsri_text_tree *t = j->tree;
    if (!j->value) {
        const int32_t rule = begin(j, &j->value, "value");
        int32_t any = tsri_text_choice(t, tsri_text_json_object(j), tsri_text_json_array(j));
        any = tsri_text_choice(t, any, tsri_text_json_string(j));
        any = tsri_text_choice(t, any, tsri_text_json_number(j));
        any = tsri_text_choice(t, any, tsri_text_word(t, "true"));
        any = tsri_text_choice(t, any, tsri_text_word(t, "false"));
        any = tsri_text_choice(t, any, tsri_text_word(t, "null"));
        tsri_text_rule_set(t, rule, any);
    }
    return tsri_text_call(t, j->value);
}
