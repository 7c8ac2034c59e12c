/* task/measure/bench.h - between the files of the benchmark. */
#ifndef TSRI_TASK_MEASURE_BENCH_H
#define TSRI_TASK_MEASURE_BENCH_H

#include "model/model.h"
#include "tessera/bench.h"

enum { TSRI_TASK_BENCH_PEAKS = 9 };

/* The best of each of the device's peaks, by their place in the table of bench_peaks.c; 0: not
 * known. */
typedef struct tsri_task_peaks {
    double fma_f32, fma_f16, dot_int8, read;
} tsri_task_peaks;

/* Where rows go, counted. */
typedef struct tsri_task_sink {
    int (*row)(void *data, const tsr_bench_row *row);
    void *data;
    tsr_bench_summary *summary;
} tsri_task_sink;
tsr_status tsri_task_bench_emit(const tsri_task_sink *sink, const tsr_bench_row *row);
tsr_status tsri_task_bench_tell(const tsr_bench_options *options, const char *what);
/* median, lowest, highest of n values, which are sorted; n >= 1 */
void tsri_task_bench_spread(double *values, uint32_t n, tsr_bench_row *row);
/* The status of a row that did not run. */
uint32_t tsri_task_bench_failed(tsr_status status);

tsr_status tsri_task_bench_peaks(tsr_device *device, const tsr_bench_options *options,
                                 const tsri_task_sink *sink, tsri_task_peaks *out);

/* bench_beside.c: the peaks as they are now, of those that `first` has; what can't be measured
 * stays as there. */
void tsri_task_bench_beside(const tsr_device *device, const tsri_task_peaks *first,
                            tsri_task_peaks *out);
/* Keeps the larger of each. */
void tsri_task_bench_best(tsri_task_peaks *best, const tsri_task_peaks *other);
/* Says why a row's share is doubtful: peaks before or after it that are far below the best, a share
 * above 1. False where it is not, with an empty text. */
bool tsri_task_bench_doubt(const tsri_task_peaks *best, const tsri_task_peaks *before,
                           const tsri_task_peaks *after, double share, char *why, size_t room);

/* n ids of [0, vocab) that depend on nothing else. */
void tsri_task_bench_ids(int32_t *ids, int64_t n, int32_t vocab);

/* What a row's run computes and reads, and its share of the roofline; row's median is set. */
tsr_status tsri_task_bench_work(tsr_model *model, const tsri_task_peaks *peaks, tsr_bench_row *row);
/* The rows that its plan runs, "linear/packed attention/lanes": new memory in *out. */
tsr_status tsri_task_bench_kernels(tsr_model *model, int64_t tokens, char **out);

/* bench_train.c: steps of row->batch sequences of row->tokens; fills its figures, the roofline by
 * 6 FLOP a parameter and token. And how far the loss and the gradients' norm of a
 * short first step are from the reference's, the larger of the two, relative. */
tsr_status tsri_task_bench_train(tsr_device *device, const char *model, uint32_t runs,
                                 const tsri_task_peaks *peaks, tsr_bench_row *row);
tsr_status tsri_task_bench_train_gate(tsr_engine *engine, tsr_device *device, const char *model,
                                      double *error);

/* ---- the gate ---- */

enum { TSRI_TASK_GATE_TOKENS = 8, TSRI_TASK_GATE_BATCH = 8 };

/* Logits [V] of a short prompt's last token, with the kernels of many rows (a batch of the same
 * prompt), and of the token after it, with those of one. */
typedef struct tsri_task_gate {
    float *prompt, *next;
    int32_t vocab;
    bool exact; /* all of it is computed in f32 */
} tsri_task_gate;
tsr_status tsri_task_gate_run(tsr_model *model, bool device, tsri_task_gate *out);
void tsri_task_gate_clear(tsri_task_gate *gate);
/* The largest difference over the largest wanted; infinite where one is no number. */
double tsri_task_gate_error(const float *got, const float *want, int32_t n);
double tsri_task_gate_bound(const tsri_task_gate *gate);

#endif
