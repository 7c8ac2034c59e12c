/* task/bench/beside.c - measures the peaks beside each row, because a device's clock
 * changes and other programs come and go: a peak measured minutes ago says little about a rate of
 * now. */
#include "task/bench/bench.h"

#include <stdio.h>

enum { RUNS = 3 }; /* of each peak; the best counts */
#define MOVED 0.15 /* share of a peak from which a difference is reported */

static void measure(const tsr_device *device, uint32_t peak, double *out) {
    if (*out > 0)
        (void)tsri_run_peak_best(device, peak, RUNS, out);
}

void tsri_task_bench_beside(const tsr_device *device, const tsri_run_peaks *first,
                            tsri_run_peaks *out) {
    *out = *first;
    measure(device, TSR_PEAK_FMA_F32, &out->fma_f32);
    measure(device, TSR_PEAK_READ, &out->read);
    if (first->fma_f32 > 0) { /* the other types' arithmetic has the same clock */
        out->fma_f16 = first->fma_f16 * (out->fma_f32 / first->fma_f32);
        out->dot_int8 = first->dot_int8 * (out->fma_f32 / first->fma_f32);
    }
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

void tsri_task_bench_best(tsri_run_peaks *best, const tsri_run_peaks *other) {
    best->fma_f32 = larger(best->fma_f32, other->fma_f32);
    best->fma_f16 = larger(best->fma_f16, other->fma_f16);
    best->dot_int8 = larger(best->dot_int8, other->dot_int8);
    best->read = larger(best->read, other->read);
}

/* How far the lower of the two is below the best, as a share. */
static double below(double best, double before, double after) {
    const double least = before < after ? before : after;
    return best > 0 ? 1 - least / best : 0;
}

bool tsri_task_bench_doubt(const tsri_run_peaks *best, const tsri_run_peaks *before,
                           const tsri_run_peaks *after, double share, char *why, size_t room) {
    const double moved = larger(below(best->fma_f32, before->fma_f32, after->fma_f32),
                                below(best->read, before->read, after->read));
    int n = 0;
    *why = 0;
    if (moved > MOVED)
        n = snprintf(why, room,
                     "the device's peaks were up to %.0f %% lower beside this row: other programs "
                     "are running, or its clock changes",
                     100 * moved);
    if (share > 1.005)
        snprintf(why + n, room - (size_t)n,
                 "%sa share above 100 %% shows that the peaks were disturbed: run it again",
                 n ? "; " : "");
    return *why;
}
