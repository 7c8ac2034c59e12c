/* backends/opencl/layout.h - how weights lie, chosen for all their uses; rows stored and loaded. */
#ifndef TSRI_OPENCL_LAYOUT_H
#define TSRI_OPENCL_LAYOUT_H

#include "backends/opencl/device.h"

const tsri_opencl_layout *tsri_opencl_layout_by_id(uint32_t id); /* NULL: plain, or unknown */

/* The same weight as plain rows. */
tsr_layout tsri_opencl_plain_layout(const tsr_layout *layout);

/* Entries of the backend's table. */
tsr_status tsri_opencl_weight_layout(tsr_dev *dev, const tsr_weight_use *const *uses, size_t n,
                                     const char *kernels, tsr_layout *layout);
tsr_status tsri_opencl_weight_store(tsr_dev *dev, const tsr_layout *layout, const tsr_rows *rows,
                                    tsr_buf *buf);
tsr_status tsri_opencl_weight_load(tsr_dev *dev, const tsr_layout *layout, tsr_buf *buf,
                                   tsr_rows *rows);

#endif
