/* backends/opencl/open_device.h - opens and closes a device. */
#ifndef TSRI_OPENCL_OPEN_DEVICE_H
#define TSRI_OPENCL_OPEN_DEVICE_H

#include "backends/opencl/device/device.h"

/* Entries of the backend's table. */
tsr_status tsri_opencl_device_open(tsr_state *state, uint32_t index,
                                   const tsr_device_options *options, tsr_dev **out);
void tsri_opencl_device_close(tsr_dev *dev);

#endif
