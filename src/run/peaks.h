/* run/peaks.h - what an open device can do at most: its backend's extension "tsr.peaks/1", and
 * copies through the seam. */
#ifndef TSRI_RUN_PEAKS_H
#define TSRI_RUN_PEAKS_H

#include "tessera/device.h"

enum { TSRI_RUN_COPY_WRITE = 100, TSRI_RUN_COPY_READ }; /* beside tsr_peak: bytes a second */

/* Of the first of the devices: values[repeats], in the unit that tsr_peak says. TSR_E_UNSUPPORTED:
 * the sentence says why. */
tsr_status tsri_run_peak(const tsr_device *device, uint32_t peak, uint32_t repeats, double *values);

#endif
