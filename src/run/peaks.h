/* run/peaks.h - the peaks of an open device: those of its backend's extension "tsr.peaks/1", and
 * copies through the backend. */
#ifndef TSRI_RUN_PEAKS_H
#define TSRI_RUN_PEAKS_H

#include "tessera/device.h"

#include <stdbool.h>

/* Besides those of tsr_peak: bytes a second */
enum { TSRI_RUN_COPY_WRITE = 200, TSRI_RUN_COPY_READ };

/* Measures a peak of the first of the devices: values[repeats], in the unit that tsr_peak gives.
 * TSR_E_UNSUPPORTED where that is not possible; the sentence says why. */
tsr_status tsri_run_peak(const tsr_device *device, uint32_t peak, uint32_t repeats, double *values);

/* The best value of each of the device's peaks; 0: it is not known. */
typedef struct tsri_run_peaks {
    double fma_f32, fma_f16, fma_bf16, dot_int8, read;
    double launch; /* seconds for a launch among many */
    double term;   /* seconds for a multiply-add that waits for the one before it; 0: not counted */
} tsri_run_peaks;

/* Measures a peak and keeps the best of `repeats` (at most TSRI_RUN_PEAK_REPEATS) values in *best;
 * false where it can't be measured. */
enum { TSRI_RUN_PEAK_REPEATS = 8 };
bool tsri_run_peak_best(const tsr_device *device, uint32_t peak, uint32_t repeats, double *best);

enum { TSRI_RUN_COMPUTES = 4 }; /* the values of tsr_compute */

/* Seconds that multiply-adds (flops by tsr_compute) take at the peaks of their types, or that bytes
 * take to be read, whichever is longer. 0: a peak that it needs is not known. */
double tsri_run_least_seconds(const tsri_run_peaks *peaks, const double flops[TSRI_RUN_COMPUTES],
                              double bytes);

#endif
