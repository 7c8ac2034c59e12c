/* task/bench/rows.c - what every part of the benchmark does with a row: computes its
 * figures from runs, sets its status, and hands it on. */
#include "base/error.h"
#include "base/random.h"
#include "task/bench/bench.h"

#include <stdlib.h>

tsr_status tsri_task_bench_emit(const tsri_task_sink *sink, const tsr_bench_row *row) {
    tsr_bench_summary *s = sink->summary;
    uint32_t *const counts[] = {&s->ok, &s->unsupported, &s->failed_accuracy, &s->errors};
    ++*counts[row->status <= TSR_BENCH_ERROR ? row->status : TSR_BENCH_ERROR];
    return sink->row(sink->data, row)
               ? tsri_base_fail(TSR_E_CANCELLED, "the benchmark was cancelled")
               : TSR_OK;
}

tsr_status tsri_task_bench_tell(const tsr_bench_options *options, const char *what) {
    return options->progress && options->progress(options->progress_data, what)
               ? tsri_base_fail(TSR_E_CANCELLED, "the benchmark was cancelled")
               : TSR_OK;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void tsri_task_bench_spread(double *values, uint32_t n, tsr_bench_row *row) {
    qsort(values, n, sizeof *values, by_size);
    row->lowest = values[0];
    row->highest = values[n - 1];
    row->median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

uint32_t tsri_task_bench_failed(tsr_status status) {
    return status == TSR_E_UNSUPPORTED ? TSR_BENCH_UNSUPPORTED : TSR_BENCH_ERROR;
}

void tsri_task_bench_ids(int32_t *ids, int64_t n, int32_t vocab) {
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)(tsri_base_uniform(1, 0, (uint64_t)i) * vocab);
}
