/* task/texts/offsets.h - finds the place of each token in its text. */
#ifndef TSRI_TASK_TEXTS_OFFSETS_H
#define TSRI_TASK_TEXTS_OFFSETS_H

#include "text/tokenizer/tokenizer.h"

typedef struct tsri_task_offset {
    size_t begin, end; /* bytes of the text; equal where a token has none */
    bool continues;    /* it belongs to the same word as the token before it */
} tsri_task_offset;

/* Sets the places of a text's n tokens, which must not include special tokens around it. Text and
 * pieces are compared without case, accents and white space, so that no tokenizer's normalisation
 * needs to be undone; an unknown token gets the whole word at its place. */
tsr_status tsri_task_offsets(const tsri_text_tokenizer *tokenizer, const char *text, size_t size,
                             const int32_t *ids, size_t n, tsri_task_offset *out);

#endif
