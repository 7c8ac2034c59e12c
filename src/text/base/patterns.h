/* text/base/patterns.h - where a pattern matches. Known tokenizer patterns run in linear scanners
 * written for them; any other regular expression runs in PCRE2 (with UTF and UCP) under match
 * limits. */
#ifndef TSRI_TEXT_BASE_PATTERNS_H
#define TSRI_TEXT_BASE_PATTERNS_H

#include "text/base/splits.h"

#include <stdint.h>

typedef struct tsri_text_pattern tsri_text_pattern;

extern const char tsri_text_pattern_gpt2[], tsri_text_pattern_llama3[], tsri_text_pattern_qwen2[],
    tsri_text_pattern_cl100k[], tsri_text_pattern_o200k[], tsri_text_pattern_tekken[],
    tsri_text_pattern_kimi[], tsri_text_pattern_character[];

/* A scanner returns the end of the match that starts at text[at] (at < n); its matches together
 * cover any text. */
typedef size_t (*tsri_text_scanner)(const char *text, size_t n, size_t at);
/* How a pattern is read: as it stands, as PCRE2 reads it, or as Oniguruma does, for which the regular
 * expressions of a tokenizer.json are written. */
typedef enum tsri_text_syntax {
    TSRI_TEXT_LITERAL,
    TSRI_TEXT_PCRE2,
    TSRI_TEXT_ONIGURUMA
} tsri_text_syntax;
/* The scanner of a known regular expression, which is recognised by its exact text, or NULL; *name
 * is "GPT-2" and so on. */
tsri_text_scanner tsri_text_scanner_of(const char *regex, size_t n, tsri_text_syntax syntax,
                                       const char **name);

/* TSR_E_FORMAT: it does not compile; TSR_E_UNSUPPORTED: it has a part of Oniguruma's that has no
 * equal in PCRE2. Only Oniguruma's may be empty: it matches between all characters. */
tsr_status tsri_text_pattern_new(const char *pattern, size_t n, tsri_text_syntax syntax,
                                 tsri_text_pattern **out);
/* Appends the cover of text (valid UTF-8). A regular expression takes its steps (an item tried, a
 * character passed) from *steps; TSR_E_FORMAT when no steps are left. thread: any number at
 * once. */
tsr_status tsri_text_pattern_cover(const tsri_text_pattern *p, const char *text, size_t n,
                                   uint64_t *steps, tsri_text_ranges *cover);
/* Appends text with every match replaced; *at_start says whether a match was at the start. */
tsr_status tsri_text_pattern_replace(const tsri_text_pattern *p, const char *text, size_t n,
                                     const char *by, size_t by_size, uint64_t *steps,
                                     tsri_bytes *out, bool *at_start);
/* "GPT-2", "Llama 3", ..., "literal" or "PCRE2". */
const char *tsri_text_pattern_kind(const tsri_text_pattern *p);
void tsri_text_pattern_destroy(tsri_text_pattern **p);

#endif
