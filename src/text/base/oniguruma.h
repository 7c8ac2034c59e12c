/* text/base/oniguruma.h - writes a regular expression of Oniguruma, for which a tokenizer.json is
 * written, as one of PCRE2 that matches the same.
 *
 * Both libraries read most patterns alike, and some differently without a word: \h is a digit in
 * base 16, \w has marks, ^ and $ belong to lines, "{1,3}+" repeats a repeat, "a(?i)b|c" is
 * "a(?i:b|c)", a class may hold classes and intersections (&&), and \p{Han} is a script, not its
 * extensions. What has no equal in PCRE2 is refused by name.
 * source  Oniguruma 6.9, doc/RE and doc/SYNTAX.md, the syntax "Ruby" with UTF-8 */
#ifndef TSRI_TEXT_BASE_ONIGURUMA_H
#define TSRI_TEXT_BASE_ONIGURUMA_H

#include "base/bytes.h"
#include "tessera/status.h"

/* Appends the pattern for PCRE2 with PCRE2_UTF, PCRE2_UCP and \n alone as the end of a line.
 * TSR_E_UNSUPPORTED: a part has no equal; TSR_E_FORMAT: it is not a pattern of Oniguruma. */
tsr_status tsri_text_oniguruma(const char *pattern, size_t n, tsri_bytes *out);

#endif
