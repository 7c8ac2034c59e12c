/* text/stages/added.h - added tokens, which are found in the text before anything else, by Hugging
 * Face's rules. */
#ifndef TSRI_TEXT_STAGES_ADDED_H
#define TSRI_TEXT_STAGES_ADDED_H

#include "text/base/matcher.h"
#include "text/base/splits.h"
#include "text/stages/normalize.h"

typedef struct tsri_text_added_token {
    int32_t id;
    bool special;        /* found in input only on request; most are left out of decoded text */
    bool single_word;    /* found only where no word character is next to it */
    bool lstrip, rstrip; /* takes the white space before it, after it */
    bool normalized;     /* searched in the normalized text, else in the original text */
} tsri_text_added_token;

/* What the normalizer makes of a normalized token, where that is another text. */
typedef struct tsri_text_added_form {
    int32_t id;
    tsri_bytes text;
} tsri_text_added_form;

/* All zero is an empty set of tokens. */
typedef struct tsri_text_added {
    tsri_text_added_token *tokens;
    size_t count, capacity;
    tsri_text_added_form *forms;
    size_t form_count, form_capacity;
    tsri_text_matcher raw, normalized;
} tsri_text_added;

/* Of two tokens with the same content the one that was added first is found. The content of a
 * normalized token goes through `normalizer`. content must not be empty. */
tsr_status tsri_text_added_put(tsri_text_added *added, const tsri_text_added_token *token,
                               const char *content, size_t n,
                               const tsri_text_normalizer *normalizer);
/* The token that this content alone is in a text that is not normalized; NULL: none. Its flags may be changed. */
tsri_text_added_token *tsri_text_added_find(tsri_text_added *added, const char *content, size_t n);
/* Appends text's pieces, with found tokens as ids: the leftmost first, and of those that start at
 * the same place the longest. */
tsr_status tsri_text_added_split(const tsri_text_added *added, bool normalized, bool special,
                                 const char *text, size_t n, bool first, tsri_text_splits *out);
/* What a decoder is given for a token: its normalized form, which the decoder turns back; NULL: the
 * token's piece. */
const tsri_bytes *tsri_text_added_form_of(const tsri_text_added *added, int32_t id);
void tsri_text_added_clear(tsri_text_added *added);

#endif
