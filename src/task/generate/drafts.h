/* task/generate/drafts.h - how many guessed tokens a step computes beside the known ones. */
#ifndef TSRI_TASK_GENERATE_DRAFTS_H
#define TSRI_TASK_GENERATE_DRAFTS_H

#include "task/generate/lookup.h"

/* A sequence of a step, which has a row for its last token. */
typedef struct tsri_task_draft {
    const tsri_task_lookup *lookup; /* brought up to date */
    int64_t most;                   /* guessed tokens at most */
    int64_t n;                      /* how many of them the step computes */
} tsri_task_draft;

/* Sets n of each of `count` sequences (any number), so that the step, of at most `rows` rows, gives the most tokens
 * for its time; all 0 where guesses gain too little. A run has as many rows for each sequence as for
 * that with the most. The result depends on counts alone, never on a clock. */
void tsri_task_drafts_choose(tsri_task_draft *drafts, uint32_t count, int64_t rows);

#endif
