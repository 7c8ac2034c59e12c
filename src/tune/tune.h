/* tune/tune.h - searches the tunables of the kernel variants that ops can run, by the device's own
 * clock.
 *
 * Ops are gathered from plans or shapes; those that a variant serves in the same way (its
 * condition) are a group and share values. The variants that would be chosen are searched first,
 * the others in the rest of the budget. A candidate is timed in turn with the best so far, and
 * medians are compared, so that a busy machine slows both. Before that it must give the bytes that
 * the variant's first values give (nearly, for a variant that may differ in a batch), and those
 * must be near what the plain variant gives.
 */
#ifndef TSRI_TUNE_TUNE_H
#define TSRI_TUNE_TUNE_H

#include "run/run.h"

typedef struct tsri_tune tsri_tune;

/* Creates a search on the first device of options, which must have been opened with profile; forced
 * kernels are ignored. */
tsr_status tsri_tune_create(const tsri_run_options *options, tsri_tune **out);
void tsri_tune_destroy(tsri_tune **tune);

/* Adds each op of a plan that has something to tune: not one that writes a state. Another one that can't
 * be tried alone is left out with a warning. */
tsr_status tsri_tune_add_plan(tsri_tune *tune, const tsri_run_plan *plan);
tsr_status tsri_tune_add_op(tsri_tune *tune, const tsr_op *op);

/* What was found for one kernel variant. Texts are valid during the visit. */
typedef struct tsri_tune_tuned {
    const char *op, *variant, *condition;
    char before[96], after[96]; /* "MR=6,NV=1" */
    double before_ns, after_ns; /* of the group's ops: the sum of medians */
    unsigned tried, wrong;      /* candidates; those with other results */
    bool kept;
} tsri_tune_tuned;

typedef struct tsri_tune_options {
    double seconds;
    const char *write;        /* a file that gets the winners' lines; may be NULL */
    bool (*stop)(void *data); /* asked between runs; may be NULL */
    void (*visit)(void *data, const tsri_tune_tuned *found);
    void *data;
} tsri_tune_options;

/* Searches. The winners are kept for the device, and in the file at `write`, as soon as they are
 * found: a process may end in a driver's compiler. TSR_E_CANCELLED if it was stopped;
 * TSR_E_UNSUPPORTED if the device measures nothing. */
tsr_status tsri_tune_search(tsri_tune *tune, const tsri_tune_options *options);

#endif
