/* backends/opencl/peaks.h - extension "tsr.peaks/1". */
#ifndef TSRI_OPENCL_PEAKS_H
#define TSRI_OPENCL_PEAKS_H

#include "backends/opencl/device/device.h"

tsr_status tsri_opencl_peak(tsr_dev *dev, uint32_t peak, uint32_t repeats, double *values);

#endif
