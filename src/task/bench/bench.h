/* task/bench/bench.h - what the files of the benchmark share. */
#ifndef TSRI_TASK_BENCH_BENCH_H
#define TSRI_TASK_BENCH_BENCH_H

#include "model/model.h"
#include "run/peaks.h"
#include "tessera/bench.h"

enum { TSRI_TASK_BENCH_PEAKS = 9 };

/* Where rows go, and their counts. */
typedef struct tsri_task_sink {
    int (*row)(void *data, const tsr_bench_row *row);
    void *data;
    tsr_bench_summary *summary;
} tsri_task_sink;
tsr_status tsri_task_bench_emit(const tsri_task_sink *sink, const tsr_bench_row *row);
tsr_status tsri_task_bench_tell(const tsr_bench_options *options, const char *what);
/* Sets the row's median, lowest and highest of n >= 1 values, and sorts these. */
void tsri_task_bench_spread(double *values, uint32_t n, tsr_bench_row *row);
/* The row's status for a run that failed with this status. */
uint32_t tsri_task_bench_failed(tsr_status status);

tsr_status tsri_task_bench_peaks(tsr_device *device, const tsr_bench_options *options,
                                 const tsri_task_sink *sink, tsri_run_peaks *out);

/* beside.c: measures the peaks again that `first` has; one that can't be measured keeps its
 * value. */
void tsri_task_bench_beside(const tsr_device *device, const tsri_run_peaks *first,
                            tsri_run_peaks *out);
/* Keeps the larger value of each peak. */
void tsri_task_bench_best(tsri_run_peaks *best, const tsri_run_peaks *other);
/* Whether a row's share is doubtful, and why: peaks before or after it are far below the best, or
 * the share is above 1. False: the text is empty. */
bool tsri_task_bench_doubt(const tsri_run_peaks *best, const tsri_run_peaks *before,
                           const tsri_run_peaks *after, double share, char *why, size_t room);

/* Sets n ids in [0, vocab), which depend on n and vocab alone. */
void tsri_task_bench_ids(int32_t *ids, int64_t n, int32_t vocab);

/* Fills in what a row's run computes and reads, and its share of the roofline; the row's median is
 * set already. */
tsr_status tsri_task_bench_work(tsr_model *model, const tsri_run_peaks *peaks, tsr_bench_row *row);
/* The kernel variants of the plan, "linear/packed attention/lanes": new memory in *out. */
tsr_status tsri_task_bench_kernels(tsr_model *model, int64_t tokens, char **out);

/* training.c: tsri_task_bench_train measures steps of row->batch sequences of row->tokens, and
 * fills in the row's figures; the roofline counts 6 FLOP for each parameter and token. The gate
 * gives the relative error, against the reference, of the loss and of the gradients' norm of a
 * short first step: the larger of the two. */
tsr_status tsri_task_bench_train(tsr_device *device, const char *model, uint32_t runs,
                                 const tsri_run_peaks *peaks, tsr_bench_row *row);
tsr_status tsri_task_bench_train_gate(tsr_engine *engine, tsr_device *device, const char *model,
                                      double *error);

/* ---- the gate ---- */

enum { TSRI_TASK_GATE_TOKENS = 8, TSRI_TASK_GATE_BATCH = 8 };

/* The logits [V] of a short prompt's last token: `prompt` by the kernel variants for many rows (a
 * batch of the same prompt), `next` by those for one row (one token at a time). */
typedef struct tsri_task_gate {
    float *prompt, *next;
    int32_t vocab;
    bool exact; /* everything is computed in f32 */
} tsri_task_gate;
tsr_status tsri_task_gate_run(tsr_model *model, bool device, tsri_task_gate *out);
void tsri_task_gate_clear(tsri_task_gate *gate);
/* The largest difference divided by the largest of `want`; infinite where a logit is not finite. */
double tsri_task_gate_error(const float *got, const float *want, int32_t n);
double tsri_task_gate_bound(const tsri_task_gate *gate);

#endif
