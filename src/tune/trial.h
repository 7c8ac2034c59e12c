/* tune/trial.h - runs one op alone on a device, with made-up operands: what it computes, and how
 * long it takes. */
#ifndef TSRI_TUNE_TRIAL_H
#define TSRI_TUNE_TRIAL_H

#include "run/run.h"

/* An op with the sizes at which it is run. All operands are packed; states are inputs. */
typedef struct tsri_tune_case {
    tsri_graph *graph;
    tsr_bounds bounds;
    int64_t sizes[TSR_SYMBOLS]; /* the largest that the bounds allow */
    int64_t small[TSR_SYMBOLS]; /* with only a few rows, for comparison with slow kernels */
    double work;                /* flops of a run, times the number of such ops in a model */
    void *in[TSRI_GRAPH_MAX_OPERANDS];
    size_t in_bytes[TSRI_GRAPH_MAX_OPERANDS];
} tsri_tune_case;

/* Makes a case of an op with its bounds; TSR_E_UNSUPPORTED for an op that writes a state. */
tsr_status tsri_tune_case_make(const tsr_op *op, double count, tsri_tune_case *out);
void tsri_tune_case_clear(tsri_tune_case *c);
/* The op of the case, with bounds. */
const tsr_op *tsri_tune_case_op(const tsri_tune_case *c, tsri_graph_op_store *store);
/* Whether op, sizes and bounds are the same. */
bool tsri_tune_case_same(const tsri_tune_case *a, const tsri_tune_case *b);

/* A case that is ready to run with forced kernel variants. */
typedef struct tsri_tune_trial {
    const tsri_tune_case *c;
    tsri_run_context *context;
    char *kernels; /* forced kernel variants; owned by the context */
    tsri_run_plan *plan;
    tsr_dtype dtype[TSRI_GRAPH_MAX_OPERANDS]; /* of the outputs */
    void *out[TSRI_GRAPH_MAX_OPERANDS];
    size_t out_bytes[TSRI_GRAPH_MAX_OPERANDS], n_out;
    uint64_t measured; /* nanoseconds so far */
} tsri_tune_trial;

tsr_status tsri_tune_trial_open(const tsri_tune_case *c, const tsri_run_options *options,
                                tsri_tune_trial *out);
void tsri_tune_trial_close(tsri_tune_trial *trial);
/* Runs it and reads the outputs. Whole numbers among the operands are those that suit the sizes. */
tsr_status tsri_tune_trial_results(tsri_tune_trial *trial, const int64_t sizes[TSR_SYMBOLS]);
/* Runs it and gives the time by the device's events. 0: the device measures nothing. */
tsr_status tsri_tune_trial_time(tsri_tune_trial *trial, uint64_t *nanoseconds);
/* Whether the results are the same bytes; whether they differ at most by rounding. */
bool tsri_tune_trial_same(const tsri_tune_trial *a, const tsri_tune_trial *b);
bool tsri_tune_trial_near(const tsri_tune_trial *a, const tsri_tune_trial *b);

#endif
