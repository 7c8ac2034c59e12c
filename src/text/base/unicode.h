/* text/base/unicode.h - reads UTF-8 strictly, and knows the character classes that tokenizers'
 * patterns ask for. */
#ifndef TSRI_TEXT_BASE_UNICODE_H
#define TSRI_TEXT_BASE_UNICODE_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

/* The character at text[0], and its length in bytes (1-4) as the result; n >= 1. Overlong forms,
 * surrogates, numbers above U+10FFFF and truncated sequences are not characters: *out is -1 and the
 * result is 1. */
size_t tsri_text_utf8_next(const char *text, size_t n, int32_t *out);
/* The start of the character that ends before text[at]; at >= 1 and text valid. */
size_t tsri_text_utf8_before(const char *text, size_t at);
size_t tsri_text_utf8_put(int32_t c, char out[4]);
bool tsri_text_utf8_valid(const char *text, size_t n);
/* Whether text is the beginning of a character that more bytes may complete. */
bool tsri_text_utf8_cut(const char *text, size_t n);

/* Appends text with one U+FFFD for every byte that does not belong to a character (SentencePiece's
 * rule, used for all input). */
tsr_status tsri_text_utf8_repair(const char *text, size_t n, tsri_bytes *out);
/* Appends the complete characters of text with one U+FFFD for every maximal truncated or broken
 * sequence (the Unicode recommendation, which byte-level decoders follow), and says how many bytes
 * it used: all of them with `last`; without, it leaves a sequence at the end that more bytes may
 * complete. */
tsr_status tsri_text_utf8_lossy(const char *text, size_t n, bool last, tsri_bytes *out,
                                size_t *used);

/* \p{L} \p{N} \s \w \p{P} \p{M} of a character, by Unicode's tables (utf8proc). */
bool tsri_text_is_letter(int32_t c);
bool tsri_text_is_number(int32_t c);
bool tsri_text_is_space(int32_t c);
bool tsri_text_is_word(int32_t c);
bool tsri_text_is_punctuation(int32_t c); /* \p{P} or an ASCII symbol */
bool tsri_text_is_mark(int32_t c);
/* A mark for the normalizer StripAccents of the tokenizers library, which has Unicode 9. */
bool tsri_text_is_accent(int32_t c);
/* \p{Ll}, and \p{Lu} or \p{Lt}; of a letter. */
bool tsri_text_is_lower(int32_t c);
bool tsri_text_is_upper(int32_t c);
/* As Python's str.isprintable: no control, format, private or unassigned character, and of separators the
 * space alone. */
bool tsri_text_is_printable(int32_t c);

/* The length in bytes of the extended grapheme cluster that text (valid UTF-8, n >= 1) starts
 * with. */
size_t tsri_text_grapheme(const char *text, size_t n);

/* Normal forms, in time linear in n even for runs of combining marks. text is valid UTF-8; the
 * result is appended. */
typedef enum tsri_text_form {
    TSRI_TEXT_NFC,
    TSRI_TEXT_NFD,
    TSRI_TEXT_NFKC,
    TSRI_TEXT_NFKD
} tsri_text_form;
tsr_status tsri_text_normal_form(tsri_text_form form, const char *text, size_t n, tsri_bytes *out);
/* Appends each character's own lower case, without its context: a final sigma stays a sigma. */
tsr_status tsri_text_lowercase(const char *text, size_t n, tsri_bytes *out);

#endif
