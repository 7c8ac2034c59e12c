/* backends/opencl/device/staging.h - uploads of weights: by way of memory that a discrete device reads
 * by itself, so that the host prepares the next rows meanwhile. */
#ifndef TSRI_OPENCL_DEVICE_STAGING_H
#define TSRI_OPENCL_DEVICE_STAGING_H

#include "backends/opencl/device/device.h"

/* Writes `bytes` of `data` to a buffer; `data` may be freed when it returns. On devices with memory
 * of their own the write may still be in flight then; what is enqueued later comes after it. */
tsr_status tsri_opencl_upload(tsr_dev *dev, cl_mem mem, size_t offset, size_t bytes,
                              const void *data);
/* After the queue was drained. */
void tsri_opencl_staging_free(tsr_dev *dev);

#endif
