/* text/grammar/gbnf.c - reads GBNF: name ::= alternatives, with "texts", [classes], names, groups, and
 * repetitions behind them, <tokens>, and %json {...}: JSON that this schema allows. A rule ends with its line, unless a
 * group is open or a | came last. */
#include "text/grammar/read.h"
#include "text/grammar/trie.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/base/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REPEATS = 1 << 16, MOST_GROUPS = 256 };

typedef struct reader {
    const char *text, *at, *end;
    const tsri_text_tokenizer *tokenizer; /* NULL: names of tokens are not looked up */
    tsri_text_tree *tree;
    int32_t *names; /* of a hash table by name: rules; -1: free */
    size_t room, n_names;
    int groups; /* that are open */
} reader;

static size_t line_of(const reader *r) {
    size_t line = 1;
    for (const char *c = r->text; c < r->at; c++)
        line += *c == '\n';
    return line;
}

static tsr_status wrong(const reader *r, const char *wanted) {
    char seen[24] = "the end";
    size_t n = (size_t)(r->end - r->at);
    if (n) {
        n = n < sizeof seen - 3 ? n : sizeof seen - 3;
        const char *line_end = memchr(r->at, '\n', n);
        n = line_end ? (size_t)(line_end - r->at) : n;
        snprintf(seen, sizeof seen, n ? "\"%.*s\"" : "the end of the line", (int)n, r->at);
    }
    return tsri_base_fail(TSR_E_ARGUMENT, "line %zu: %s is wanted before %s", line_of(r), wanted,
                          seen);
}

static bool is(const reader *r, char c) {
    return r->at < r->end && *r->at == c;
}

static bool is_word(const reader *r) {
    const char c = r->at < r->end ? *r->at : 0;
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

/* Blanks and comments; ends of lines, too, if they mean nothing here. */
static void skip(reader *r, bool lines) {
    while (is(r, ' ') || is(r, '\t') || is(r, '#') || (lines && (is(r, '\n') || is(r, '\r')))) {
        if (is(r, '#'))
            while (r->at < r->end && *r->at != '\n' && *r->at != '\r')
                r->at++;
        else
            r->at++;
    }
}

/* ---- names ---- */

/* Where a name is in the table, or would be. */
static size_t find_name(const reader *r, const char *name, size_t n) {
    size_t at = 5381;
    for (size_t i = 0; i < n; i++)
        at = at * 33 + (unsigned char)name[i];
    for (at &= r->room - 1; r->names[at] >= 0; at = (at + 1) & (r->room - 1)) {
        const char *known = r->tree->rules[r->names[at]].name;
        if (strlen(known) == n && !memcmp(known, name, n))
            break;
    }
    return at;
}

static tsr_status grow_names(reader *r) {
    enum { FIRST = 64 };
    int32_t *old = r->names;
    const size_t old_room = r->room;
    if ((r->n_names + 1) * 2 <= old_room)
        return TSR_OK;
    r->room = old_room ? old_room * 2 : FIRST;
    const tsr_status status = tsri_base_new(r->room, sizeof *r->names, &r->names);
    for (size_t i = 0; status == TSR_OK && i < r->room; i++)
        r->names[i] = -1;
    for (size_t i = 0; status == TSR_OK && i < old_room; i++)
        if (old[i] >= 0) {
            const char *name = r->tree->rules[old[i]].name;
            r->names[find_name(r, name, strlen(name))] = old[i];
        }
    free(old);
    return status;
}

/* The rule of a name, which is made where it is met first. */
static tsr_status rule_of(reader *r, const char *name, size_t n, int32_t *rule) {
    TRY(grow_names(r));
    const size_t at = find_name(r, name, n);
    if (r->names[at] < 0) {
        r->names[at] = tsri_text_rule_new(r->tree, name, n);
        r->n_names++;
    }
    *rule = r->names[at];
    return r->tree->status;
}

static tsr_status read_name(reader *r, int32_t *rule) {
    const char *begin = r->at;
    while (is_word(r))
        r->at++;
    if (r->at == begin)
        return wrong(r, "the name of a rule (letters, digits and -)");
    return rule_of(r, begin, (size_t)(r->at - begin), rule);
}

/* ---- characters ---- */

static tsr_status read_hex(reader *r, int digits, int32_t *out) {
    uint32_t value = 0;
    for (int i = 0; i < digits; i++, r->at++) {
        const char c = r->at < r->end ? *r->at : 0;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return wrong(r, "a hexadecimal digit");
        value = value << 4 | (uint32_t)digit;
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        return wrong(r, "the number of a Unicode character (up to 10FFFF, no surrogate)");
    *out = (int32_t)value;
    return TSR_OK;
}

/* A character of a text or a class, which may be escaped. */
static tsr_status read_character(reader *r, int32_t *out) {
    static const char plain[] = "t\tr\rn\n\\\\\"\"[[]]";
    if (r->at >= r->end || *r->at == '\n')
        return wrong(r, "a character, and the end of its text or class,");
    if (*r->at != '\\') {
        r->at += tsri_text_utf8_next(r->at, (size_t)(r->end - r->at), out);
        return TSR_OK;
    }
    r->at++;
    const char c = r->at < r->end ? *r->at : 0;
    if (c == 'x' || c == 'u' || c == 'U') {
        r->at++;
        return read_hex(r, c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
    }
    for (size_t i = 0; c && i + 1 < sizeof plain; i += 2)
        if (plain[i] == c) {
            r->at++;
            *out = (unsigned char)plain[i + 1];
            return TSR_OK;
        }
    return wrong(r, "one of t r n \\ \" [ ] x u U, which may follow a \\,");
}

static tsr_status read_text(reader *r, int32_t *out) {
    tsri_bytes bytes = {0};
    tsr_status status = TSR_OK;
    char utf8[4];
    int32_t c;
    r->at++;
    while (status == TSR_OK && !is(r, '"')) {
        status = read_character(r, &c);
        if (status == TSR_OK)
            status = tsri_base_bytes_append(&bytes, utf8, tsri_text_utf8_put(c, utf8));
    }
    r->at++;
    if (status == TSR_OK)
        *out = tsri_text_literal(r->tree, bytes.data ? bytes.data : "", bytes.size);
    tsri_base_bytes_clear(&bytes);
    return status;
}

static tsr_status read_ranges(reader *r, tsri_text_characters **ranges, size_t *n) {
    size_t room = 0;
    while (!is(r, ']')) {
        tsri_text_characters range;
        TRY(read_character(r, &range.first));
        range.last = range.first;
        if (is(r, '-') && r->at + 1 < r->end && r->at[1] != ']') {
            r->at++;
            TRY(read_character(r, &range.last));
        }
        if (range.last < range.first)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "line %zu: a range of characters ends before it begins",
                                  line_of(r));
        TRY(tsri_base_grow(ranges, &room, *n + 1, sizeof **ranges));
        (*ranges)[(*n)++] = range;
    }
    return TSR_OK;
}

static tsr_status read_class(reader *r, int32_t *out) {
    tsri_text_characters *ranges = NULL;
    size_t n = 0;
    r->at++;
    const bool except = is(r, '^');
    r->at += except;
    const tsr_status status = read_ranges(r, &ranges, &n);
    r->at++;
    if (status == TSR_OK)
        *out = tsri_text_class(r->tree, ranges, n, except);
    free(ranges);
    return status;
}

/* ---- expressions ---- */

static tsr_status read_choice(reader *r, int32_t *out);

static tsr_status read_group(reader *r, int32_t *out) {
    if (r->groups == MOST_GROUPS)
        return tsri_base_fail(TSR_E_ARGUMENT, "line %zu: more than %d groups are open", line_of(r),
                              MOST_GROUPS);
    r->at++;
    r->groups++;
    skip(r, true);
    TRY(read_choice(r, out));
    if (!is(r, ')'))
        return wrong(r, "a )");
    r->at++;
    r->groups--;
    return TSR_OK;
}

/* ---- JSON schemas ---- */

static const char json_mark[] = "%json";

/* Behind the object that begins here; NULL: it does not end. */
static const char *object_end(const char *at, const char *end) {
    size_t open = 0;
    bool quoted = false;
    for (; at < end; at++) {
        if (quoted && *at == '\\')
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && *at == '{')
            open++;
        else if (!quoted && *at == '}' && --open == 0)
            return at + 1;
    }
    return NULL;
}

static bool is_json(const reader *r) {
    const size_t n = sizeof json_mark - 1;
    return (size_t)(r->end - r->at) >= n && !memcmp(r->at, json_mark, n);
}

static tsr_status read_json(reader *r, int32_t *out) {
    int32_t rule;
    r->at += sizeof json_mark - 1;
    skip(r, true);
    const char *end = is(r, '{') ? object_end(r->at, r->end) : NULL;
    if (!end)
        return wrong(r, "a whole JSON schema (%json {...})");
    const tsr_status status = tsri_text_schema_add(r->at, (size_t)(end - r->at), r->tree, &rule);
    if (status != TSR_OK)
        return tsri_base_fail_within(status, "line %zu, the schema of %%json", line_of(r));
    r->at = end;
    *out = tsri_text_call(r->tree, rule);
    return TSR_OK;
}

/* ---- tokens ---- */

static int32_t token_literal(reader *r, int32_t id) {
    char mark[TSRI_TEXT_MARK_ROOM];
    return tsri_text_literal(r->tree, mark, tsri_text_token_mark(id, mark));
}

/* [digits] */
static bool read_id(const char *at, size_t n, int32_t *id) {
    int64_t value = 0;
    bool digits = n > 2 && at[0] == '[' && at[n - 1] == ']';
    for (size_t i = 1; i + 1 < n && digits; i++) {
        digits = at[i] >= '0' && at[i] <= '9';
        value = value * 10 + (at[i] - '0');
        digits &= value <= INT32_MAX;
    }
    *id = (int32_t)value;
    return digits;
}

/* A token that is not special stands for its text. */
static tsr_status token_of(reader *r, int32_t id, int32_t *out) {
    tsri_bytes bytes = {0};
    if (!r->tokenizer || tsri_text_is_special(r->tokenizer, id)) {
        *out = token_literal(r, id);
        return TSR_OK;
    }
    const tsr_status status = tsri_text_token_bytes(r->tokenizer, id, &bytes);
    if (status == TSR_OK)
        *out = tsri_text_literal(r->tree, bytes.data ? bytes.data : "", bytes.size);
    tsri_base_bytes_clear(&bytes);
    return status;
}

/* <name>, whose brackets belong to the name, or <[id]>. */
static tsr_status read_token(reader *r, int32_t *out) {
    const char *begin = r->at, *line_end = memchr(begin, '\n', (size_t)(r->end - begin)),
               *end = memchr(begin, '>', (size_t)((line_end ? line_end : r->end) - begin));
    size_t size;
    int32_t id = 0;
    if (!end)
        return wrong(r, "the name of a token, in <>,");
    const size_t n = (size_t)(++end - begin);
    const bool by_id = read_id(begin + 1, n - 2, &id);
    if (r->tokenizer && !by_id)
        id = tsri_text_id_of(r->tokenizer, begin, n);
    if (r->tokenizer && (id < 0 || !tsri_text_piece_of(r->tokenizer, id, &size)))
        return tsri_base_fail(TSR_E_ARGUMENT, "line %zu: the model has no token %.*s", line_of(r),
                              (int)(n < 80 ? n : 80), begin);
    r->at = end;
    return token_of(r, id, out);
}

/* One text, class, name, schema or group. *found is false where there is none. */
static tsr_status read_item(reader *r, bool *found, int32_t *out) {
    int32_t rule;
    *found = true;
    if (is(r, '"'))
        return read_text(r, out);
    if (is(r, '['))
        return read_class(r, out);
    if (is(r, '('))
        return read_group(r, out);
    if (is(r, '.')) {
        r->at++;
        *out = tsri_text_class(r->tree, NULL, 0, true);
        return TSR_OK;
    }
    if (is_json(r))
        return read_json(r, out);
    if (is(r, '<'))
        return read_token(r, out);
    if (is(r, '!'))
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "line %zu: any token but one (!<...>) is not served", line_of(r));
    *found = is_word(r);
    if (!*found)
        return TSR_OK;
    TRY(read_name(r, &rule));
    *out = tsri_text_call(r->tree, rule);
    return TSR_OK;
}

static tsr_status read_number(reader *r, int32_t *out) {
    int32_t n = 0;
    if (!(r->at < r->end && *r->at >= '0' && *r->at <= '9'))
        return wrong(r, "a number of repetitions");
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if ((n = n * 10 + (*r->at - '0')) > MOST_REPEATS)
            return tsri_base_fail(TSR_E_ARGUMENT, "line %zu: more than %d repetitions", line_of(r),
                                  MOST_REPEATS);
    *out = n;
    return TSR_OK;
}

static tsr_status read_bounds(reader *r, int32_t *least, int32_t *most) {
    const bool lines = r->groups > 0;
    r->at++;
    skip(r, lines);
    TRY(read_number(r, least));
    *most = *least;
    skip(r, lines);
    if (is(r, ',')) {
        r->at++;
        skip(r, lines);
        *most = -1;
        if (!is(r, '}'))
            TRY(read_number(r, most));
        skip(r, lines);
    }
    if (!is(r, '}'))
        return wrong(r, "a }");
    r->at++;
    if (*most >= 0 && *most < *least)
        return tsri_base_fail(TSR_E_ARGUMENT, "line %zu: {%d,%d}: at most %d, but at least %d",
                              line_of(r), (int)*least, (int)*most, (int)*most, (int)*least);
    return TSR_OK;
}

/* The repetitions behind an item. */
static tsr_status read_repeats(reader *r, int32_t *item) {
    const bool lines = r->groups > 0;
    while (is(r, '*') || is(r, '+') || is(r, '?') || is(r, '{')) {
        int32_t least = *r->at == '+', most = *r->at == '?' ? 1 : -1;
        if (*r->at == '{')
            TRY(read_bounds(r, &least, &most));
        else
            r->at++;
        *item = tsri_text_repeat(r->tree, *item, least, most);
        skip(r, lines);
    }
    return TSR_OK;
}

static tsr_status read_sequence(reader *r, int32_t *out) {
    *out = tsri_text_literal(r->tree, "", 0);
    while (true) {
        int32_t item;
        bool found;
        TRY(read_item(r, &found, &item));
        if (!found)
            return TSR_OK;
        skip(r, r->groups > 0);
        TRY(read_repeats(r, &item));
        *out = tsri_text_sequence(r->tree, *out, item);
        TRY(r->tree->status);
    }
}

static tsr_status read_choice(reader *r, int32_t *out) {
    int32_t other;
    TRY(read_sequence(r, out));
    while (is(r, '|')) {
        r->at++;
        skip(r, true);
        TRY(read_sequence(r, &other));
        *out = tsri_text_choice(r->tree, *out, other);
    }
    return r->tree->status;
}

static tsr_status read_rule(reader *r) {
    int32_t rule, root;
    TRY(read_name(r, &rule));
    skip(r, false);
    if (r->end - r->at < 3 || memcmp(r->at, "::=", 3))
        return wrong(r, "::= behind the name of a rule");
    r->at += 3;
    skip(r, true);
    TRY(read_choice(r, &root));
    if (r->at < r->end && !is(r, '\n') && !is(r, '\r'))
        return wrong(r, "the end of the line, a name, a text, a class, a token, a group or |");
    tsri_text_rule_set(r->tree, rule, root);
    skip(r, true);
    return TSR_OK;
}

static tsr_status read_rules(reader *r) {
    int32_t root;
    TRY(rule_of(r, "root", 4, &root));
    skip(r, true);
    while (r->at < r->end)
        TRY(read_rule(r));
    if (r->tree->rules[root].root < 0)
        return tsri_base_fail(TSR_E_ARGUMENT, "it has no rule \"root\", with which a text begins");
    return r->tree->status;
}

tsr_status tsri_text_gbnf_read(const char *text, size_t n, const tsri_text_tokenizer *tokenizer,
                               tsri_text_tree *tree) {
    reader r = {.text = text, .at = text, .end = text + n, .tokenizer = tokenizer, .tree = tree};
    if (!tsri_text_utf8_valid(text, n))
        return tsri_base_fail(TSR_E_ARGUMENT, "it is not UTF-8");
    const tsr_status status = read_rules(&r);
    free(r.names);
    return status;
}
