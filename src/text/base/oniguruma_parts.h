/* text/base/oniguruma_parts.h - what the files that read Oniguruma's patterns share. */
#ifndef TSRI_TEXT_BASE_ONIGURUMA_PARTS_H
#define TSRI_TEXT_BASE_ONIGURUMA_PARTS_H

#include "base/bytes.h"
#include "tessera/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tsri_text_onig {
    const char *pattern;
    size_t n, at;
    bool caseless, extended, dot_all; /* (?i), (?x), (?m) */
    bool named;                       /* some group has a name: the others capture nothing */
    int groups;                       /* that capture, so far */
    int depth;
    int32_t before, last; /* the literal before this item, and before the next; -1: none */
} tsri_text_onig;

/* A set of characters. As an item of a class of PCRE2 it is its content; "negated" is a class
 * around it that begins with ^. */
typedef struct tsri_text_onig_set {
    const char *content;
    bool negated;
    char property[96]; /* where the content is a property */
} tsri_text_onig_set;

/* Fails with the place and the part's name. */
tsr_status tsri_text_onig_refuse(const tsri_text_onig *r, const char *what);

bool tsri_text_onig_takes(tsri_text_onig *r, const char *text);
/* The byte that is `ahead` behind the place; 0: the pattern has ended. */
char tsri_text_onig_peek(const tsri_text_onig *r, size_t ahead);
/* Reads up to `most` digits; what follows them stays. */
int32_t tsri_text_onig_digits(tsri_text_onig *r, int base, int most);

/* Reads a backslash and what belongs to it, if that is a set (\d \s \w \h \p{...} and their
 * opposites); *found: it was. */
tsr_status tsri_text_onig_set_escape(tsri_text_onig *r, tsri_text_onig_set *set, bool *found);
/* Reads a backslash and what belongs to it as one character. */
tsr_status tsri_text_onig_code_escape(tsri_text_onig *r, bool in_class, int32_t *code);
/* Appends an expression for one character of the set. */
tsr_status tsri_text_onig_put_set(const tsri_text_onig_set *set, tsri_bytes *out);
/* Appends an expression for one character; in a class or outside. */
tsr_status tsri_text_onig_put_code(int32_t code, tsri_bytes *out);
/* Whether a character's case may fold to several characters, which PCRE2 doesn't know. */
bool tsri_text_onig_folds(int32_t first, int32_t last);

/* Reads a class from its [ on, and appends an expression for one character. */
tsr_status tsri_text_onig_class(tsri_text_onig *r, tsri_bytes *out);

extern const char tsri_text_onig_word[]; /* the content of \w outside of a class */

#endif
