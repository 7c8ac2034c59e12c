/* task/generate/lookup.h - guesses how a text goes on: its last tokens stood in it before, and what
 * followed them there may follow again. How often that held is counted, also while nothing is made of
 * the guesses. */
#ifndef TSRI_TASK_GENERATE_LOOKUP_H
#define TSRI_TASK_GENERATE_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

enum { TSRI_TASK_LOOKUP_KINDS = 5, TSRI_TASK_LOOKUP_ONE = 1 << 16 };

/* Of one text; all zero: of a text that was not looked at yet. */
typedef struct tsri_task_lookup {
    int64_t seen;  /* tokens of the text that were looked at */
    int64_t next;  /* the place in the text of the token that is expected next; 0: none */
    int64_t alike; /* how many tokens before that place are the last ones of the text */
    uint32_t hits; /* how often the expected token came, in all */
    /* How often the expected token came, by `alike` */
    uint16_t tried[TSRI_TASK_LOOKUP_KINDS], right[TSRI_TASK_LOOKUP_KINDS];
} tsri_task_lookup;

/* Looks at the tokens that the text has got since the last call: counts which were expected, and finds
 * where it may go on. ids: [n], n does not decrease. */
void tsri_task_lookup_update(tsri_task_lookup *lookup, const int32_t *ids, int64_t n);
/* The token that is expected `ahead` tokens behind the next one. lookup->next is not 0. */
int32_t tsri_task_lookup_token(const tsri_task_lookup *lookup, const int32_t *ids, int64_t ahead);
/* The chance that it comes if those before it do, of TSRI_TASK_LOOKUP_ONE. */
uint32_t tsri_task_lookup_chance(const tsri_task_lookup *lookup, int64_t ahead);

#endif
