/* backends/opencl/device/exit.h - the open devices of the process. */
#ifndef TSRI_OPENCL_DEVICE_EXIT_H
#define TSRI_OPENCL_DEVICE_EXIT_H

#include "backends/opencl/device/device.h"

/* The device is open: the exit handler finds it from now on. */
void tsri_opencl_list(tsr_dev *dev);
/* It is not any more. */
void tsri_opencl_unlist(tsr_dev *dev);
/* Keeps a lost device where it can be found, with all that was left to its driver. */
void tsri_opencl_leave(tsr_dev *dev);
/* Finishes what is in flight on every open device; the exit handler. */
void tsri_opencl_drain_all(void);

#endif
