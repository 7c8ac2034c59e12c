/* text/base/oniguruma.c - groups, repeats and escapes of Oniguruma, written for PCRE2. */
#include "text/base/oniguruma.h"

#include "base/error.h"
#include "text/base/oniguruma_parts.h"
#include "text/base/unicode.h"

#include <string.h>

enum { DEEPEST = 100, MOST_REPEATS = 65535 };

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* ---- one item ---- */

static tsr_status put(tsri_bytes *out, const char *text) {
    return tsri_base_bytes_append(out, text, strlen(text));
}

/* Two characters that are also the folded form of one (ß, ﬁ, ...): Oniguruma takes that one, too. */
static bool is_pair(int32_t a, int32_t b) {
    static const char *const pairs[] = {"ss", "ff", "fi", "fl", "st"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if ((a | 0x20) == pairs[i][0] && (b | 0x20) == pairs[i][1])
            return true;
    return false;
}

static tsr_status put_literal(tsri_text_onig *r, int32_t c, tsri_bytes *out) {
    if (r->caseless && (tsri_text_onig_folds(c, c) || is_pair(r->before, c)))
        return tsri_text_onig_refuse(
            r, "caseless text for which one character may stand, as \xC3\x9F for ss");
    r->last = c;
    return tsri_text_onig_put_code(c, out);
}

/* A place between a character of a word and another; or not such a place. */
static tsr_status put_border(bool border, tsri_bytes *out) {
    const char *const w = tsri_text_onig_word;
    return tsri_base_bytes_printf(out,
                                  border ? "(?:(?<=[%s])(?![%s])|(?<![%s])(?=[%s]))"
                                         : "(?:(?<=[%s])(?=[%s])|(?<![%s])(?![%s]))",
                                  w, w, w, w);
}

static tsr_status read_escape(tsri_text_onig *r, tsri_bytes *out, bool *repeatable) {
    static const struct {
        char letter;
        const char *expression;
        bool repeatable;
    } known[] = {{'A', "\\A", false},
                 {'Z', "\\Z", false},
                 {'z', "\\z", false},
                 {'K', "\\K", false},
                 {'N', "[^\\n]", true},
                 {'O', "(?s:.)", true},
                 {'R', "(?>\\r\\n|[\\n-\\r\\x{85}\\x{2028}\\x{2029}])", true}};
    const char c = tsri_text_onig_peek(r, 1);
    tsri_text_onig_set set;
    bool found = false;
    TRY(tsri_text_onig_set_escape(r, &set, &found));
    if (found) {
        if (c == 'w' || c == 'W')
            set.content = tsri_text_onig_word;
        if (!r->caseless)
            return tsri_text_onig_put_set(&set, out);
        TRY(put(out, "(?-i:"));
        TRY(tsri_text_onig_put_set(&set, out));
        return put(out, ")");
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].letter != c)
            continue;
        r->at += 2;
        *repeatable = known[i].repeatable;
        return put(out, known[i].expression);
    }
    if (c == 'b' || c == 'B') {
        r->at += 2;
        *repeatable = false;
        return put_border(c == 'b', out);
    }
    if (c >= '1' && c <= '9') {
        r->at += 2;
        if (r->named || r->caseless || c - '0' > r->groups || is_digit(tsri_text_onig_peek(r, 0)))
            return tsri_text_onig_refuse(r, "this reference to a group");
        return tsri_base_bytes_printf(out, "(?:\\%c)", c);
    }
    if (c && strchr("GXyYkg", c))
        return tsri_text_onig_refuse(r, "this escape");
    int32_t code;
    TRY(tsri_text_onig_code_escape(r, false, &code));
    return put_literal(r, code, out);
}

static tsr_status read_alternatives(tsri_text_onig *r, tsri_bytes *out);

/* Reads the rest of a group, whose options end with it. */
static tsr_status read_rest(tsri_text_onig *r, tsri_bytes *out) {
    const tsri_text_onig before = *r;
    if (++r->depth > DEEPEST)
        return tsri_text_onig_refuse(r, "nesting this deep");
    r->last = -1;
    TRY(read_alternatives(r, out));
    r->caseless = before.caseless;
    r->extended = before.extended;
    r->dot_all = before.dot_all;
    r->depth = before.depth;
    r->last = -1;
    return put(out, ")");
}

static tsr_status close_group(tsri_text_onig *r) {
    return tsri_text_onig_takes(r, ")")
               ? TSR_OK
               : tsri_base_fail(TSR_E_FORMAT, "regular expression \"%.*s\": a group has no end",
                                (int)(r->n < 200 ? r->n : 200), r->pattern);
}

/* (?imx-imx) or (?imx-imx:...), from the letters on. An option alone holds to the end of the group
 * around it, and what it holds for is a group of its own. */
static tsr_status read_options(tsri_text_onig *r, tsri_bytes *out) {
    tsri_text_onig with = *r;
    bool on = true;
    for (; tsri_text_onig_peek(&with, 0) && strchr("imx-", tsri_text_onig_peek(&with, 0));
         with.at++) {
        const char c = tsri_text_onig_peek(&with, 0);
        with.caseless = c == 'i' ? on : with.caseless;
        with.dot_all = c == 'm' ? on : with.dot_all;
        with.extended = c == 'x' ? on : with.extended;
        on = on && c != '-';
    }
    const char end = tsri_text_onig_peek(&with, 0);
    if (end != ':' && end != ')')
        return tsri_text_onig_refuse(r, "this kind of group");
    with.at++;
    const tsri_text_onig before = *r;
    *r = with;
    TRY(put(out, with.caseless ? "(?i:" : "(?-i:"));
    TRY(read_rest(r, out));
    r->caseless = before.caseless;
    r->extended = before.extended;
    r->dot_all = before.dot_all;
    return end == ':' ? close_group(r) : TSR_OK;
}

/* (?<name>...) */
static tsr_status read_named(tsri_text_onig *r, tsri_bytes *out) {
    const char close = r->pattern[r->at++] == '<' ? '>' : '\'';
    while (r->at < r->n && r->pattern[r->at] != close)
        r->at++;
    r->at++;
    if (r->at >= r->n)
        return tsri_text_onig_refuse(r, "a name without an end");
    TRY(put(out, "(?:"));
    TRY(read_rest(r, out));
    return close_group(r);
}

static tsr_status read_group(tsri_text_onig *r, tsri_bytes *out, bool *repeatable) {
    static const struct {
        const char *from;
        bool repeatable;
    } known[] = {{"?:", true},  {"?>", true},   {"?=", false},
                 {"?!", false}, {"?<=", false}, {"?<!", false}};
    r->at++;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!tsri_text_onig_takes(r, known[i].from))
            continue;
        *repeatable = known[i].repeatable;
        TRY(tsri_base_bytes_printf(out, "(%s", known[i].from));
        TRY(read_rest(r, out));
        return close_group(r);
    }
    if (tsri_text_onig_peek(r, 0) == '*')
        return tsri_text_onig_refuse(r, "\"(*\"");
    if (tsri_text_onig_peek(r, 0) != '?') {
        r->groups += !r->named;
        TRY(put(out, r->named ? "(?:" : "("));
        TRY(read_rest(r, out));
        return close_group(r);
    }
    r->at++;
    return tsri_text_onig_peek(r, 0) == '<' || tsri_text_onig_peek(r, 0) == '\''
               ? read_named(r, out)
               : read_options(r, out);
}

/* One item without what repeats it. */
static tsr_status read_item(tsri_text_onig *r, tsri_bytes *out, bool *repeatable) {
    const char c = tsri_text_onig_peek(r, 0);
    int32_t code;
    if (c != '\\')
        *repeatable = c != '^' && c != '$';
    if (c == '\\')
        return read_escape(r, out, repeatable);
    if (c == '[')
        return tsri_text_onig_class(r, out);
    if (c == '(')
        return read_group(r, out, repeatable);
    if (c == '^' || c == '$' || c == '.') {
        r->at++;
        return put(out, c == '^'     ? "(?m:^)"
                        : c == '$'   ? "(?m:$)"
                        : r->dot_all ? "(?s:.)"
                                     : "[^\\n]");
    }
    r->at += tsri_text_utf8_next(r->pattern + r->at, r->n - r->at, &code);
    return put_literal(r, code, out);
}

/* ---- repeats ---- */

/* {n}, {n,}, {n,m} or {,m}; most -1: no limit. */
typedef struct interval {
    int32_t least, most;
    bool single; /* {n} */
} interval;

/* The size of the interval at the place; 0: it is a brace. */
static size_t read_interval(const tsri_text_onig *from, interval *of) {
    tsri_text_onig r = *from;
    if (!tsri_text_onig_takes(&r, "{"))
        return 0;
    const size_t start = r.at;
    of->least = of->most = tsri_text_onig_digits(&r, 10, 7);
    const bool least = r.at > start;
    of->single = !tsri_text_onig_takes(&r, ",");
    if (!of->single) {
        const size_t second = r.at;
        of->most = tsri_text_onig_digits(&r, 10, 7);
        if (r.at == second)
            of->most = -1;
    }
    const bool fine = least || (!of->single && of->most >= 0);
    return fine && tsri_text_onig_takes(&r, "}") ? r.at - from->at : 0;
}

/* Puts what was written from `start` to `end` into a group: what follows repeats a repeat. */
static tsr_status wrap(tsri_bytes *out, size_t start, size_t end) {
    TRY(put(out, "(?:)"));
    memmove(out->data + end + 4, out->data + end, out->size - 4 - end);
    memmove(out->data + start + 3, out->data + start, end - start);
    memcpy(out->data + start, "(?:", 3);
    out->data[end + 3] = ')';
    return TSR_OK;
}

static tsr_status read_repeat(tsri_text_onig *r, tsri_bytes *out, bool *found) {
    interval of = {0};
    const char c = tsri_text_onig_peek(r, 0);
    const bool sign = c && strchr("?*+", c);
    const size_t size = sign ? 1 : read_interval(r, &of);
    *found = size > 0;
    if (!size)
        return TSR_OK;
    if ((of.most >= 0 && of.least > of.most) || of.least > MOST_REPEATS || of.most > MOST_REPEATS)
        return tsri_text_onig_refuse(r, "this repeat");
    r->at += size;
    if (sign)
        TRY(tsri_base_bytes_append(out, &c, 1));
    else if (of.most < 0)
        TRY(tsri_base_bytes_printf(out, "{%d,}", (int)of.least));
    else
        TRY(tsri_base_bytes_printf(out, "{%d,%d}", (int)of.least, (int)of.most));
    /* Behind an interval, + repeats it once more, and so does ? behind {n}. */
    if (!of.single && tsri_text_onig_takes(r, "?"))
        return put(out, "?");
    return sign && tsri_text_onig_takes(r, "+") ? put(out, "+") : TSR_OK;
}

/* Blanks and comments, which mean nothing with (?x), and comments in groups. */
static bool skip_nothing(tsri_text_onig *r) {
    const size_t from = r->at;
    while (r->extended && tsri_text_onig_peek(r, 0) &&
           strchr(" \t\n\r\f\v", tsri_text_onig_peek(r, 0)))
        r->at++;
    if (r->extended && tsri_text_onig_peek(r, 0) == '#')
        while (r->at < r->n && r->pattern[r->at] != '\n')
            r->at++;
    if (tsri_text_onig_peek(r, 0) == '(' && tsri_text_onig_peek(r, 1) == '?' &&
        tsri_text_onig_peek(r, 2) == '#')
        while (r->at < r->n && r->pattern[r->at++] != ')')
            ;
    return r->at > from;
}

static tsr_status read_repeated(tsri_text_onig *r, tsri_bytes *out) {
    const size_t start = out->size;
    bool repeatable = true, found = true;
    interval of;
    if (strchr("?*+", tsri_text_onig_peek(r, 0)) || read_interval(r, &of))
        return tsri_text_onig_refuse(r, "a repeat of nothing");
    r->before = r->last;
    r->last = -1;
    TRY(read_item(r, out, &repeatable));
    for (int repeats = 0; found; repeats++) {
        const size_t end = out->size;
        TRY(read_repeat(r, out, &found));
        if (!found)
            break;
        if (!repeatable)
            return tsri_text_onig_refuse(r, "a repeat of a place");
        if (repeats)
            TRY(wrap(out, start, end));
    }
    return TSR_OK;
}

static tsr_status read_alternatives(tsri_text_onig *r, tsri_bytes *out) {
    while (r->at < r->n && tsri_text_onig_peek(r, 0) != ')') {
        if (skip_nothing(r))
            continue;
        if (tsri_text_onig_takes(r, "|")) {
            r->last = -1;
            TRY(put(out, "|"));
            continue;
        }
        TRY(read_repeated(r, out));
    }
    return TSR_OK;
}

static bool has_names(const char *pattern, size_t n) {
    for (size_t i = 0; i + 3 < n; i++)
        if (!memcmp(pattern + i, "(?", 2) &&
            (pattern[i + 2] == '\'' ||
             (pattern[i + 2] == '<' && pattern[i + 3] != '=' && pattern[i + 3] != '!')))
            return true;
    return false;
}

tsr_status tsri_text_oniguruma(const char *pattern, size_t n, tsri_bytes *out) {
    tsri_text_onig r = {.pattern = pattern, .n = n, .named = has_names(pattern, n), .last = -1};
    TRY(read_alternatives(&r, out));
    return r.at == n ? tsri_base_bytes_append(out, "", 0)
                     : tsri_base_fail(TSR_E_FORMAT,
                                      "regular expression \"%.*s\": a ) at byte %zu closes nothing",
                                      (int)(n < 200 ? n : 200), pattern, r.at);
}
