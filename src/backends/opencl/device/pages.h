/* backends/opencl/device/pages.h - memory of a CPU device in huge pages, for data that streams
 * through the cores: weights and states. */
#ifndef TSRI_OPENCL_DEVICE_PAGES_H
#define TSRI_OPENCL_DEVICE_PAGES_H

#include "backends/opencl/device/device.h"

/* Memory for a buffer of CL_MEM_USE_HOST_PTR, aligned to a page, with zeros in it, of which the system
 * makes what is used; NULL where huge pages do not help on the device or the machine, and the driver's own
 * memory serves. *pages must be given back. */
void *tsri_opencl_pages_take(tsr_dev *dev, const tsr_buffer_spec *spec, tsri_opencl_pages **pages);
/* Gives back the memory of a buffer of `bytes`, after the buffer was released and nothing that uses
 * it runs. pages NULL: nothing was taken. */
void tsri_opencl_pages_give(tsr_dev *dev, tsri_opencl_pages *pages, void *memory, uint64_t bytes);

#endif
