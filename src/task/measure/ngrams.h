/* task/measure/ngrams.h - counts the n-grams that two sequences have in common; sorting a sequence
 * once serves every n. */
#ifndef TSRI_TASK_MEASURE_NGRAMS_H
#define TSRI_TASK_MEASURE_NGRAMS_H

#include "tessera/tokenizer.h"

#include <stdbool.h>

enum { TSRI_TASK_NGRAM_MOST = 6 };

/* A sequence of items >= 0, and the places where its n-grams begin, sorted by the n-grams. All
 * zero: empty. It may be filled again and again. */
typedef struct tsri_task_ngrams {
    int32_t *items; /* [size + TSRI_TASK_NGRAM_MOST]; -1 behind the last */
    const int32_t **sorted;
    size_t size, room, sorted_room;
} tsri_task_ngrams;

void tsri_task_ngrams_empty(tsri_task_ngrams *sequence);
tsr_status tsri_task_ngrams_add(tsri_task_ngrams *sequence, int32_t item);
tsr_status tsri_task_ngrams_sort(tsri_task_ngrams *sequence); /* after the last item was added */
void tsri_task_ngrams_clear(tsri_task_ngrams *sequence);

/* How many n-grams two sorted sequences have in common; each counts as often as in the sequence
 * that has it less often. */
uint64_t tsri_task_ngrams_common(const tsri_task_ngrams *a, const tsri_task_ngrams *b, int n);
uint64_t tsri_task_ngrams_count(const tsri_task_ngrams *sequence, int n);

/* Checks that there are lines, and that each is UTF-8. */
tsr_status tsri_task_check_lines(const tsr_string *translations, const tsr_string *references,
                                 size_t n);
/* Whether Python's str.split() splits at this character. */
bool tsri_task_splits(int32_t c);

#endif
