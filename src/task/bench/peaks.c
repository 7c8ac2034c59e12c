/* task/bench/peaks.c - makes a row for each peak of a device. */
#include "task/bench/bench.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

static const struct {
    uint32_t peak;
    const char *test, *unit;
} peaks[TSRI_TASK_BENCH_PEAKS] = {
    {TSR_PEAK_FMA_F32, "fma f32", "FLOP/s"},
    {TSR_PEAK_FMA_F16, "fma f16", "FLOP/s"},
    {TSR_PEAK_DOT_INT8, "dot int8", "OP/s"},
    {TSR_PEAK_READ, "read", "B/s"},
    {TSR_PEAK_LAUNCH, "launch alone", "s"},
    {TSR_PEAK_LAUNCH_BATCHED, "launch batched", "s"},
    {TSR_PEAK_ENQUEUE, "enqueue call", "s"},
    {TSRI_RUN_COPY_WRITE, "copy to device", "B/s"},
    {TSRI_RUN_COPY_READ, "copy from device", "B/s"},
};

static void keep(uint32_t peak, const tsr_bench_row *row, tsri_run_peaks *out) {
    const double best = row->highest;
    switch (peak) {
    case TSR_PEAK_FMA_F32:
        out->fma_f32 = best;
        break;
    case TSR_PEAK_FMA_F16:
        out->fma_f16 = best;
        break;
    case TSR_PEAK_DOT_INT8:
        out->dot_int8 = best;
        break;
    case TSR_PEAK_READ:
        out->read = best;
        break;
    case TSR_PEAK_LAUNCH_BATCHED:
        out->launch = row->lowest;
        break;
    default:
        break;
    }
}

static tsr_status measure(const tsr_device *device, size_t i, double *values, uint32_t repeats,
                          const tsri_task_sink *sink, tsri_run_peaks *out) {
    tsr_bench_row row = {.struct_size = sizeof row,
                         .kind = TSR_BENCH_PEAK,
                         .test = peaks[i].test,
                         .unit = peaks[i].unit,
                         .kernels = "",
                         .reason = ""};
    const tsr_status status = tsri_run_peak(device, peaks[i].peak, repeats, values);
    if (status == TSR_OK) {
        tsri_task_bench_spread(values, repeats, &row);
        row.runs = repeats;
        keep(peaks[i].peak, &row, out);
    } else {
        row.status = tsri_task_bench_failed(status);
        row.reason = tsr_error_last();
    }
    return tsri_task_bench_emit(sink, &row);
}

tsr_status tsri_task_bench_peaks(tsr_device *device, const tsr_bench_options *options,
                                 const tsri_task_sink *sink, tsri_run_peaks *out) {
    double *values = NULL;
    *out = (tsri_run_peaks){0};
    TRY(tsri_base_new(options->repeats, sizeof *values, &values));
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < TSRI_TASK_BENCH_PEAKS && status == TSR_OK; i++) {
        status = tsri_task_bench_tell(options, peaks[i].test);
        if (status == TSR_OK)
            status = measure(device, i, values, options->repeats, sink, out);
    }
    free(values);
    return status;
}
