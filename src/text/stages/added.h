/* text/stages/added.h - added tokens: found in the text before anything else, with Hugging Face's
 * rules.
 */
#ifndef TSRI_TEXT_STAGES_ADDED_H
#define TSRI_TEXT_STAGES_ADDED_H

#include "text/base/matcher.h"
#include "text/base/splits.h"
#include "text/stages/normalize.h"

typedef struct tsri_text_added_token {
    int32_t id;
    bool special;        /* left out of decoded text; found in input only when that is asked for */
    bool single_word;    /* not next to a word character */
    bool lstrip, rstrip; /* takes the white space before, after it */
    bool normalized;     /* searched in the normalized text, else in the text as given */
} tsri_text_added_token;

/* All zero is an empty one. */
typedef struct tsri_text_added {
    tsri_text_added_token *tokens;
    size_t count, capacity;
    tsri_text_matcher raw, normalized;
} tsri_text_added;

/* Of two tokens with the same content the first added is found. The content of a normalized one
 * goes through `normalizer`. content is not empty. */
tsr_status tsri_text_added_put(tsri_text_added *added, const tsri_text_added_token *token,
                               const char *content, size_t n,
                               const tsri_text_normalizer *normalizer);
/* Appends text's pieces, found tokens as ids, leftmost first and the longest of those. */
tsr_status tsri_text_added_split(const tsri_text_added *added, bool normalized, bool special,
                                 const char *text, size_t n, bool first, tsri_text_splits *out);
void tsri_text_added_clear(tsri_text_added *added);

#endif
