/* backends/opencl/device/exit.h - the process's open devices. */
#ifndef TSRI_OPENCL_DEVICE_EXIT_H
#define TSRI_OPENCL_DEVICE_EXIT_H

#include "backends/opencl/device/device.h"

/* Adds an open device to the list that the exit handler goes through. */
void tsri_opencl_list(tsr_dev *dev);
/* Removes it. */
void tsri_opencl_unlist(tsr_dev *dev);
/* Keeps a lost device, with everything that was left to its driver, reachable until the process
 * ends. */
void tsri_opencl_leave(tsr_dev *dev);
/* The exit handler: waits for what is in flight on every open device. */
void tsri_opencl_drain_all(void);

#endif
