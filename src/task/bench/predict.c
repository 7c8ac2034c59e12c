/* task/bench/predict.c - a model of how long a run takes at least, launch by launch, by the peaks that
 * were measured on the device.
 *
 * A launch takes the longest of
 *     memory    its bytes, each read or written once, by the peak of reads
 *     products  its multiply-adds by the peak of the type that they are computed in
 *     chain     on GPUs, where floats are added in order: the terms of its longest sum, 4 cycles each
 * and the peak "launch batched". An op stands for its launches; attention of a run is one.
 *
 * bench/gpu_model is the same model with a card's public figures in place of peaks. It also has what
 * needs the compiled kernels and their grids: the bytes that resident work-items have under way, compute
 * units that the last work-groups leave idle, scales of blocks, the latency of x. So what this file
 * predicts is the faster of the two. Neither knows caches or bank conflicts. */
#include "task/bench/bench.h"

#include "backend/opened.h"

enum { CYCLES = 4 /* of a multiply-add that waits for the one before it */ };

double tsri_task_bench_term(const tsr_device *device) {
    const tsr_facts *facts = &tsri_backend_opened(device)->devices[0]->facts;
    return facts->type == TSR_DEVICE_GPU && facts->clock_mhz
               ? CYCLES / (1e6 * (double)facts->clock_mhz)
               : 0;
}

void tsri_task_bench_predict(const tsri_run_peaks *peaks, const tsri_task_least *least,
                             double times, double seconds[TSRI_TASK_BENCH_BOUNDS]) {
    if (peaks->read <= 0)
        return;
    const double memory = least->bytes / peaks->read, chain = least->terms * peaks->term,
                 products = tsri_run_least_seconds(peaks, least->flops, 0),
                 arithmetic = products > chain ? products : chain;
    seconds[memory >= arithmetic ? TSR_BENCH_BOUND_MEMORY : TSR_BENCH_BOUND_ARITHMETIC] +=
        times * (memory >= arithmetic ? memory : arithmetic);
}
