/* task/generate/drafts.h - how many guessed tokens a step computes beside the known ones. */
#ifndef TSRI_TASK_GENERATE_DRAFTS_H
#define TSRI_TASK_GENERATE_DRAFTS_H

#include "task/generate/lookup.h"

#include <stdbool.h>

/* A sequence of a step, which has a row for its last token. */
typedef struct tsri_task_draft {
    const tsri_task_lookup *lookup; /* brought up to date */
    int64_t most;                   /* guessed tokens at most */
    int64_t n;                      /* how many of them the step computes */
} tsri_task_draft;

enum { TSRI_TASK_DRAFTS_ONE = 256 };

/* What was measured of steps that decode; all zero: nothing yet. */
typedef struct tsri_task_pace {
    uint32_t sequences;   /* of the steps measured */
    uint32_t plain_steps; /* steps without guesses */
    uint64_t plain_ns;    /* what one of them takes */
    uint64_t first_ns;    /* what the longest of the first of them took, which built a plan */
    uint64_t guessed_ns;  /* what the last step took if it had guesses and counts; else 0 */
    int64_t guessed_rows; /* its rows */
    uint32_t met;  /* bit n: a step of n rows with guesses was met; the first builds kernels */
    uint32_t cost; /* what steps with guesses take of the time that is reckoned for them, of
                             TSRI_TASK_DRAFTS_ONE; 0: not known */
    uint32_t
        declined; /* steps since the last guesses in which reckoning alone would have guessed */
    bool behind;  /* the last step had guesses */
} tsri_task_pace;

/* Counts a step of `sequences` sequences that took `ns`. rows: with guesses, those of all sequences; 0:
 * without. */
void tsri_task_pace_add(tsri_task_pace *pace, uint32_t sequences, int64_t rows, uint64_t ns);

/* Sets n of each of `count` sequences (any number), so that the step, of at most `rows` rows, gives the most tokens
 * for its time; all 0 where guesses gain too little. A run has as many rows for each sequence as for
 * that with the most. pace: guesses that have lost time are not made again for many steps; NULL: the result
 * depends on counts alone, never on a clock. */
void tsri_task_drafts_choose(tsri_task_draft *drafts, uint32_t count, int64_t rows,
                             tsri_task_pace *pace);

#endif
