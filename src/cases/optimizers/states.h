/* cases/optimizers/states.h - what the cases of accumulate, sumsq, adamw and sgd have in common.
 * The states that they write are compared. */
#ifndef TSRI_CASES_STATES_H
#define TSRI_CASES_STATES_H

#include "cases/cases.h"

enum { TSRI_CASE_LENGTHS = 10 }; /* the last is that of a weight: it is timed */
extern const int64_t tsri_case_lengths[TSRI_CASE_LENGTHS];

/* Operand i is a state of n elements. */
tsri_case_operand *tsri_case_state(tsri_case *c, int i, int64_t n);

typedef struct tsri_case_rates {
    float rate, of_m, of_v, factor;
    const char *what;
} tsri_case_rates;

extern const tsri_case_rates tsri_case_rate_settings[3];
/* Operand i is the rates of a step. */
void tsri_case_give_rates(tsri_case *c, int i, const tsri_case_rates *r);
/* Operand i, which becomes result `output`, is the bf16 copy of the first. */
void tsri_case_rounded(tsri_case *c, int i, int64_t n, int output);

#endif
