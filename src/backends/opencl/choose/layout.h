/* backends/opencl/choose/layout.h - the layout of a weight, chosen for all its uses; its rows
 * stored and loaded. */
#ifndef TSRI_OPENCL_CHOOSE_LAYOUT_H
#define TSRI_OPENCL_CHOOSE_LAYOUT_H

#include "backends/opencl/device/device.h"

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
