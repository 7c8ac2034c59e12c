/* backends/opencl/launch/scratch.h - the scratch that the launches of all plans share. */
#ifndef TSRI_OPENCL_LAUNCH_SCRATCH_H
#define TSRI_OPENCL_LAUNCH_SCRATCH_H

#include "backends/opencl/device/device.h"

/* The device's scratch grows to at least so many bytes; plans made before get the new one bound. */
tsr_status tsri_opencl_scratch_grow(tsr_dev *dev, uint64_t bytes);

#endif
