/* backends/opencl/choose/fallback.h - keeps a weight a second time, as plain rows. */
#ifndef TSRI_OPENCL_CHOOSE_FALLBACK_H
#define TSRI_OPENCL_CHOOSE_FALLBACK_H

#include "backends/opencl/launch/steps.h"

/* Layouts are chosen before kernels are built. Where no variant that reads the stored layout of a
 * step's weight can be used, the step gets the weight as plain rows. They are made once and owned
 * by the weight's buffer. *moved is false where the step has no such weight. */
tsr_status tsri_opencl_fall_back(tsr_dev *dev, tsri_opencl_step *step, bool *moved);

#endif
