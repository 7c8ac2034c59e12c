/* run/trial.h - one op alone on a device, with made-up operands: what it gives, how long it takes.
 */
#ifndef TSRI_RUN_TRIAL_H
#define TSRI_RUN_TRIAL_H

#include "run/run.h"

enum { TSRI_RUN_TRIAL_OPERANDS = 8 };

/* An op with the sizes that it is run at. Every operand is packed; states are inputs. */
typedef struct tsri_run_case {
    tsri_graph *graph;
    tsr_bounds bounds;
    int64_t sizes[TSR_SYMBOLS]; /* the largest that the bounds allow */
    int64_t small[TSR_SYMBOLS]; /* a few rows, for slow kernels to be compared with */
    double work;                /* flops of a run, times how often a model has the op */
    void *in[TSRI_RUN_TRIAL_OPERANDS];
    size_t in_bytes[TSRI_RUN_TRIAL_OPERANDS];
} tsri_run_case;

/* Of an op with its bounds; TSR_E_UNSUPPORTED for one that writes a state. */
tsr_status tsri_run_case_make(const tsr_op *op, double count, tsri_run_case *out);
void tsri_run_case_clear(tsri_run_case *c);
/* The op of the case, with bounds. */
const tsr_op *tsri_run_case_op(const tsri_run_case *c, tsri_graph_op_store *store);
/* The same op, sizes and bounds. */
bool tsri_run_case_same(const tsri_run_case *a, const tsri_run_case *b);

/* A case made ready with forced kernels. */
typedef struct tsri_run_trial {
    const tsri_run_case *c;
    tsri_run_context *context;
    char *kernels; /* forced; the context's */
    tsri_run_plan *plan;
    tsr_dtype dtype[TSRI_RUN_TRIAL_OPERANDS]; /* of the outputs */
    void *out[TSRI_RUN_TRIAL_OPERANDS];
    size_t out_bytes[TSRI_RUN_TRIAL_OPERANDS], n_out;
    uint64_t measured; /* nanoseconds so far */
} tsri_run_trial;

tsr_status tsri_run_trial_open(const tsri_run_case *c, const tsri_run_options *options,
                               tsri_run_trial *out);
void tsri_run_trial_close(tsri_run_trial *trial);
/* Runs it and reads the outputs. */
tsr_status tsri_run_trial_results(tsri_run_trial *trial, const int64_t sizes[TSR_SYMBOLS]);
/* Runs it; by the device's events. 0: the device measures nothing. */
tsr_status tsri_run_trial_time(tsri_run_trial *trial, uint64_t *nanoseconds);
/* The results are the same bytes; or differ by rounding at most. */
bool tsri_run_trial_same(const tsri_run_trial *a, const tsri_run_trial *b);
bool tsri_run_trial_near(const tsri_run_trial *a, const tsri_run_trial *b);

#endif
