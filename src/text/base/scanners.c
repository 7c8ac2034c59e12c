/* text/base/scanners.c - scanners written by hand for the split patterns of GPT-2, Llama 3, Qwen2 and
 * tiktoken's encodings, and for single characters. Each reads a character a bounded number of times, however long
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
const char tsri_text_pattern_cl100k[] = "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|"
                                        "\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|"
                                        "\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s";

/* A word may begin with capitals, and ends where they begin again. */
#define CASED(capitals, others)                                           \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]" capitals \
    "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]" others
#define ENDING "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
#define BEHIND "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
const char tsri_text_pattern_o200k[] =
    CASED("*", "+") ENDING CASED("+", "*") ENDING "\\p{N}{1,3}" BEHIND;
const char tsri_text_pattern_tekken[] = CASED("*", "+") "|" CASED("+", "*") "|\\p{N}" BEHIND;
#undef CASED
#undef ENDING
#undef BEHIND

/* o200k with Han characters (by their script) apart from other words, and without the slashes. */
#define HAN                                                                                      \
    "\\x{2E80}-\\x{2E99}\\x{2E9B}-\\x{2EF3}\\x{2F00}-\\x{2FD5}\\x{3005}\\x{3007}\\x{3021}-\\x{"  \
    "3029}"                                                                                      \
    "\\x{3038}-\\x{303B}\\x{3400}-\\x{4DBF}\\x{4E00}-\\x{9FFF}\\x{F900}-\\x{FA6D}\\x{FA70}-\\x{" \
    "FAD9}"                                                                                      \
    "\\x{16FE2}\\x{16FE3}\\x{16FF0}\\x{16FF1}\\x{20000}-\\x{2A6DF}\\x{2A700}-\\x{2B739}"         \
    "\\x{2B740}-\\x{2B81D}\\x{2B820}-\\x{2CEA1}\\x{2CEB0}-\\x{2EBE0}\\x{2EBF0}-\\x{2EE5D}"       \
    "\\x{2F800}-\\x{2FA1D}\\x{30000}-\\x{3134A}\\x{31350}-\\x{323AF}"
#define CASED(capitals, others)                                                            \
    "[^\\r\\n\\p{L}\\p{N}]?(?:(?![" HAN "])[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}])" capitals \
    "(?:(?![" HAN "])[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}])" others "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
const char tsri_text_pattern_kimi[] =
    "[" HAN "]+|" CASED("*", "+") CASED("+", "*") "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
                                                  "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
#undef HAN
#undef CASED

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

static size_t digits(const char *text, size_t n, size_t at, int most) {
    size_t next = at;
    for (int i = 0; i < most && kind_at(text, n, at, &next) == NUMBER; i++)
        at = next;
    return at;
}

/* " ?[^\s\p{L}\p{N}]+" and the line ends, and with `slashes` the slashes, behind it; 0: no match. */
static size_t others(const char *text, size_t n, size_t at, bool slashes) {
    size_t next = at;
    const size_t from = text[at] == ' ' ? at + 1 : at;
    if (kind_at(text, n, from, &next) != OTHER)
        return 0;
    size_t end = run(text, n, next, OTHER);
    while (end < n && (line_end(text[end]) || (slashes && text[end] == '/')))
        end++;
    return end;
}

static size_t llama_like(const char *text, size_t n, size_t at, int most_digits, bool last_spaces) {
    const size_t ending = contraction(text, n, at, true);
    if (ending)
        return ending;
    size_t next = at, after = at;
    const kind k = kind_at(text, n, at, &next);
    if (k == LETTER)
        return run(text, n, at, LETTER);
    if (k == NUMBER)
        return digits(text, n, at, most_digits);
    if (kind_at(text, n, next, &after) == LETTER && !line_end(text[at]))
        return run(text, n, next, LETTER);
    const size_t other = others(text, n, at, false);
    if (other)
        return other;
    if (last_spaces && run(text, n, at, SPACE) == n)
        return n;
    const size_t line = lines(text, n, at);
    return line ? line : spaces(text, n, at);
}

/* The place of a character in a word that begins with capitals: both is true of marks and of letters
 * without case. */
typedef struct part {
    bool first, later;
} part;

static part part_at(const char *text, size_t n, size_t at, size_t *next) {
    if (at >= n)
        return (part){false, false};
    int32_t c;
    *next = at + tsri_text_utf8_next(text + at, n - at, &c);
    if (tsri_text_is_mark(c))
        return (part){true, true};
    if (!tsri_text_is_letter(c))
        return (part){false, false};
    return (part){!tsri_text_is_lower(c), !tsri_text_is_upper(c)};
}

static size_t later_run(const char *text, size_t n, size_t at) {
    size_t next = at;
    while (part_at(text, n, at, &next).later)
        at = next;
    return at;
}

/* F*L+ of the characters that may come first (F) and later (L); 0: no match. Where no L follows the
 * run of F, the regular expression gives back characters up to the last that is an L too. */
static size_t cased(const char *text, size_t n, size_t at) {
    size_t next = at, end = at, last = 0;
    part p;
    while ((p = part_at(text, n, end, &next)).first) {
        last = p.later ? next : last;
        end = next;
    }
    return p.later ? later_run(text, n, end) : last;
}

/* F+L* ; 0: no match. */
static size_t capitals(const char *text, size_t n, size_t at) {
    size_t next = at, end = at;
    while (part_at(text, n, end, &next).first)
        end = next;
    return end == at ? 0 : later_run(text, n, end);
}

/* A word with one other character before it, or without; a mark may be that character, or the first of
 * the word. */
static size_t cased_word(const char *text, size_t n, size_t at) {
    size_t next = at;
    const kind k = kind_at(text, n, at, &next);
    const size_t from = k == LETTER || k == NUMBER || line_end(text[at]) ? at : next;
    size_t end = cased(text, n, from);
    if (!end && from != at)
        end = cased(text, n, at);
    if (!end)
        end = capitals(text, n, from);
    return end || from == at ? end : capitals(text, n, at);
}

static size_t o200k_like(const char *text, size_t n, size_t at, int most_digits, bool endings) {
    size_t end = cased_word(text, n, at);
    if (end) {
        const size_t ending = endings && end < n ? contraction(text, n, end, true) : 0;
        return ending ? ending : end;
    }
    end = digits(text, n, at, most_digits);
    if (end > at)
        return end;
    if ((end = others(text, n, at, true)) || (end = lines(text, n, at)))
        return end;
    return spaces(text, n, at);
}

/* [\s\S] */
static size_t character(const char *text, size_t n, size_t at) {
    int32_t c;
    return at + tsri_text_utf8_next(text + at, n - at, &c);
}

static size_t llama3(const char *text, size_t n, size_t at) {
    return llama_like(text, n, at, 3, false);
}

static size_t qwen2(const char *text, size_t n, size_t at) {
    return llama_like(text, n, at, 1, false);
}

static size_t cl100k(const char *text, size_t n, size_t at) {
    return llama_like(text, n, at, 3, true);
}

static size_t o200k(const char *text, size_t n, size_t at) {
    return o200k_like(text, n, at, 3, true);
}

static size_t tekken(const char *text, size_t n, size_t at) {
    return o200k_like(text, n, at, 1, false);
}

tsri_text_scanner tsri_text_scanner_of(const char *regex, size_t n, tsri_text_syntax syntax,
                                       const char **name) {
    const struct {
        const char *regex, *name;
        tsri_text_scanner scanner;
    } known[] = {{tsri_text_pattern_gpt2, "GPT-2", gpt2},
                 {tsri_text_pattern_llama3, "Llama 3", llama3},
                 {tsri_text_pattern_qwen2, "Qwen2", qwen2},
                 {tsri_text_pattern_cl100k, "cl100k", cl100k},
                 {tsri_text_pattern_o200k, "o200k", o200k},
                 {tsri_text_pattern_tekken, "Tekken", tekken},
                 {tsri_text_pattern_character, "characters", character}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        /* Oniguruma takes all digits at once by "{1,3}+". */
        if (syntax == TSRI_TEXT_ONIGURUMA && known[i].scanner == cl100k)
            continue;
        if (strlen(known[i].regex) == n && memcmp(known[i].regex, regex, n) == 0) {
            *name = known[i].name;
            return known[i].scanner;
        }
    }
    return NULL;
}
