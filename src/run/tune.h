/* run/tune.h - searches the tunables of the rows that ops may run, by the device's own clock.
 *
 * Ops are gathered from plans or shapes; those that a row serves alike (its condition) are a group,
 * and share values. The rows that would be chosen are searched first, the others in what is left of
 * the budget. A candidate is timed in turn with the best so far, medians against medians, so that a
 * busy machine slows both; before that it must give the bytes that the row's first values give (a
 * row that may differ in a batch: near them), and those must be near what the plain row gives.
 */
#ifndef TSRI_RUN_TUNE_H
#define TSRI_RUN_TUNE_H

#include "run/run.h"

typedef struct tsri_run_tune tsri_run_tune;

/* Of options' first device, which must have been opened to measure; without its kernels. */
tsr_status tsri_run_tune_create(const tsri_run_options *options, tsri_run_tune **out);
void tsri_run_tune_destroy(tsri_run_tune **tune);

/* Every op of a plan that can be tried alone. */
tsr_status tsri_run_tune_add_plan(tsri_run_tune *tune, const tsri_run_plan *plan);
tsr_status tsri_run_tune_add_op(tsri_run_tune *tune, const tsr_op *op);

/* What was found of one row. Texts are valid for the visit. */
typedef struct tsri_run_tuned {
    const char *op, *row, *condition;
    char before[96], after[96]; /* "MR=6,NV=1" */
    double before_ns, after_ns; /* of the group's ops, medians summed */
    unsigned tried, wrong;      /* candidates; those with other results */
    bool kept;
} tsri_run_tuned;

typedef struct tsri_run_search {
    double seconds;
    bool (*stop)(void *data); /* asked between runs; may be NULL */
    void (*visit)(void *data, const tsri_run_tuned *found);
    void *data;
} tsri_run_search;

/* TSR_E_CANCELLED where it was stopped; what was found until then is there. */
tsr_status tsri_run_tune_search(tsri_run_tune *tune, const tsri_run_search *search);
/* Keeps what won: for the device, or as lines of a table at `path`. */
tsr_status tsri_run_tune_keep(tsri_run_tune *tune, const char *path);

#endif
