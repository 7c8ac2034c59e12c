/* backends/opencl/launch/scratch.h - the scratch memory that the launches of all plans share. */
#ifndef TSRI_OPENCL_LAUNCH_SCRATCH_H
#define TSRI_OPENCL_LAUNCH_SCRATCH_H

#include "backends/opencl/device/device.h"

/* Grows the device's scratch to at least that many bytes, and binds the new one to the plans made
 * before. */
tsr_status tsri_opencl_scratch_grow(tsr_dev *dev, uint64_t bytes);

#endif
