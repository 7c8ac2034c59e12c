/* backends/opencl/device/pages.h - memory of a CPU device in huge pages, for what streams through
 * the cores: weights and states. */
#ifndef TSRI_OPENCL_DEVICE_PAGES_H
#define TSRI_OPENCL_DEVICE_PAGES_H

#include "backends/opencl/device/device.h"

/* So many bytes, aligned to a page, for a buffer of CL_MEM_USE_HOST_PTR; NULL where the device or
 * the machine has no use for it: the driver's own memory will do. *pages is to be given back. */
void *tsri_opencl_pages_take(tsr_dev *dev, const tsr_buffer_spec *spec, tsri_opencl_pages **pages);
/* After the buffer was released, and nothing runs that uses it. */
void tsri_opencl_pages_give(tsr_dev *dev, tsri_opencl_pages *pages);

#endif
