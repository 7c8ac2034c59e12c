/* run/peaks.h - the peaks of an open device: those of its backend's extension "tsr.peaks/1", and
 * copies through the backend. */
#ifndef TSRI_RUN_PEAKS_H
#define TSRI_RUN_PEAKS_H

#include "tessera/device.h"

/* Besides those of tsr_peak: bytes a second */
enum { TSRI_RUN_COPY_WRITE = 100, TSRI_RUN_COPY_READ };

/* Measures a peak of the first of the devices: values[repeats], in the unit that tsr_peak gives.
 * TSR_E_UNSUPPORTED where that is not possible; the sentence says why. */
tsr_status tsri_run_peak(const tsr_device *device, uint32_t peak, uint32_t repeats, double *values);

#endif
