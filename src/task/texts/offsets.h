/* task/texts/offsets.h - where in a text each of its tokens stands. */
#ifndef TSRI_TASK_TEXTS_OFFSETS_H
#define TSRI_TASK_TEXTS_OFFSETS_H

#include "text/tokenizer/tokenizer.h"

typedef struct tsri_task_offset {
    size_t begin, end; /* bytes of the text; equal where a token stands for none */
    bool continues;    /* it belongs to the word of the token before it */
} tsri_task_offset;

/* Of n tokens of a text, without those that are put around it. Text and pieces are compared without
 * case, accents and white space, so that no tokenizer's normalisation needs to be undone; an
 * unknown token stands for the word at hand. */
tsr_status tsri_task_offsets(const tsri_text_tokenizer *tokenizer, const char *text, size_t size,
                             const int32_t *ids, size_t n, tsri_task_offset *out);

#endif
