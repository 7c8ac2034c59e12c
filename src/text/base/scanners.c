/* text/base/scanners.c - scanners written by hand for the split patterns of GPT-2, Llama 3 and
 * Qwen2, and for single characters. Each reads a character a bounded number of times, however long
 * the text is; a backtracking engine needs a stack for the same patterns. */
#include "text/base/patterns.h"
#include "text/base/unicode.h"

#include <string.h>

const char tsri_text_pattern_gpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const char tsri_text_pattern_llama3[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
                                        "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                                        "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const char tsri_text_pattern_qwen2[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
                                       "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                                       "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const char tsri_text_pattern_character[] = "[\\s\\S]";

typedef enum kind { LETTER, NUMBER, SPACE, OTHER, END } kind;

static kind kind_at(const char *text, size_t n, size_t at, size_t *next) {
    if (at >= n)
        return END;
    int32_t c;
    *next = at + tsri_text_utf8_next(text + at, n - at, &c);
    if (tsri_text_is_letter(c))
        return LETTER;
    if (tsri_text_is_space(c))
        return SPACE;
    return tsri_text_is_number(c) ? NUMBER : OTHER;
}

/* Where the run of characters of one kind that starts at `at` ends. */
static size_t run(const char *text, size_t n, size_t at, kind of) {
    size_t next = at;
    while (kind_at(text, n, at, &next) == of)
        at = next;
    return at;
}

static bool line_end(char c) {
    return c == '\r' || c == '\n';
}

/* The end of 's 't 're 've 'm 'll 'd at `at`, or 0. If case does not matter, U+017F (long s) counts
 * as an s too. */
static size_t contraction(const char *text, size_t n, size_t at, bool any_case) {
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (text[at] != '\'')
        return 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t size = strlen(endings[i]);
        if (n - at <= size)
            continue;
        size_t same = 0;
        while (same < size && (text[at + 1 + same] | (any_case ? 0x20 : 0)) == endings[i][same])
            same++;
        if (same == size)
            return at + 1 + size;
    }
    if (any_case && n - at >= 3 && memcmp(text + at + 1, "\xC5\xBF", 2) == 0)
        return at + 3;
    return 0;
}

/* \s+(?!\S)|\s+ : a run of spaces leaves its last one to what follows it. */
static size_t spaces(const char *text, size_t n, size_t at) {
    const size_t end = run(text, n, at, SPACE);
    const size_t last = tsri_text_utf8_before(text, end);
    return end == n || last == at ? end : last;
}

static size_t gpt2(const char *text, size_t n, size_t at) {
    const size_t ending = contraction(text, n, at, false);
    if (ending)
        return ending;
    size_t next = at, from = at;
    kind k = kind_at(text, n, at, &next);
    if (text[at] == ' ') {
        size_t after = next;
        const kind second = kind_at(text, n, next, &after);
        if (second == LETTER || second == NUMBER || second == OTHER) {
            k = second;
            from = next;
        }
    }
    return k == SPACE ? spaces(text, n, at) : run(text, n, from, k);
}

/* \s*[\r\n]+ : the spaces up to the last line end of the run. 0 when the run has none. */
static size_t lines(const char *text, size_t n, size_t at) {
    size_t end = run(text, n, at, SPACE);
    while (end > at && !line_end(text[end - 1]))
        end = tsri_text_utf8_before(text, end);
    return end == at ? 0 : end;
}

static size_t llama_like(const char *text, size_t n, size_t at, int most_digits) {
    const size_t ending = contraction(text, n, at, true);
    if (ending)
        return ending;
    size_t next = at, after = at;
    const kind k = kind_at(text, n, at, &next);
    if (k == LETTER)
        return run(text, n, at, LETTER);
    if (k == NUMBER) {
        size_t end = next;
        for (int digits = 1; digits < most_digits && kind_at(text, n, end, &after) == NUMBER;
             digits++)
            end = after;
        return end;
    }
    const kind second = kind_at(text, n, next, &after);
    if (second == LETTER && !line_end(text[at]))
        return run(text, n, next, LETTER);
    if (k == OTHER || (text[at] == ' ' && second == OTHER)) {
        size_t end = run(text, n, k == OTHER ? at : next, OTHER);
        while (end < n && line_end(text[end]))
            end++;
        return end;
    }
    const size_t line = lines(text, n, at);
    return line ? line : spaces(text, n, at);
}

/* [\s\S] */
static size_t character(const char *text, size_t n, size_t at) {
    int32_t c;
    return at + tsri_text_utf8_next(text + at, n - at, &c);
}

static size_t llama3(const char *text, size_t n, size_t at) {
    return llama_like(text, n, at, 3);
}

static size_t qwen2(const char *text, size_t n, size_t at) {
    return llama_like(text, n, at, 1);
}

tsri_text_scanner tsri_text_scanner_of(const char *regex, size_t n, const char **name) {
    const struct {
        const char *regex, *name;
        tsri_text_scanner scanner;
    } known[] = {{tsri_text_pattern_gpt2, "GPT-2", gpt2},
                 {tsri_text_pattern_llama3, "Llama 3", llama3},
                 {tsri_text_pattern_qwen2, "Qwen2", qwen2},
                 {tsri_text_pattern_character, "characters", character}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].regex) == n && memcmp(known[i].regex, regex, n) == 0) {
            *name = known[i].name;
            return known[i].scanner;
        }
    }
    return NULL;
}
