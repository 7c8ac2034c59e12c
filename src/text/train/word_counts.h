/* text/train/word_counts.h - how often each word was seen. */
#ifndef TSRI_TEXT_TRAIN_WORD_COUNTS_H
#define TSRI_TEXT_TRAIN_WORD_COUNTS_H

#include "base/bytes.h"

#include <stdint.h>

typedef struct tsri_text_word_count {
    uint64_t count, hash;
    size_t start;
    uint32_t size; /* in `text` */
} tsri_text_word_count;

/* All zero is an empty table without a limit. */
typedef struct tsri_text_word_counts {
    tsri_bytes text;
    tsri_text_word_count *items; /* in the order in which they were first seen */
    size_t count, capacity;
    uint32_t *slots; /* open addressing: index + 1, or 0 for an empty slot */
    size_t slot_count;
    size_t most;     /* words to keep: beyond that the rarest are forgotten; 0: all */
    uint64_t pruned; /* words forgotten */
} tsri_text_word_counts;

/* n >= 1. */
tsr_status tsri_text_word_counts_add(tsri_text_word_counts *words, const char *word, size_t n);
void tsri_text_word_counts_clear(tsri_text_word_counts *words);

#endif
