/* backends/opencl/choose/choose.h - chooses the kernels of a plan. */
#ifndef TSRI_OPENCL_CHOOSE_CHOOSE_H
#define TSRI_OPENCL_CHOOSE_CHOOSE_H

#include "backends/opencl/launch/steps.h"

/* Gives every step an instance that is built and tested. */
tsr_status tsri_opencl_choose(tsr_dev *dev, tsr_plan *plan);
/* Has the programs built that choosing this plan's kernels will need, where builders do that, and does
 * not wait. */
tsr_status tsri_opencl_choose_ahead(tsr_dev *dev, tsr_plan *plan);

#endif
