/* backends/opencl/choose/tune.h - the extension by which a host searches tunables and keeps the
 * best values. */
#ifndef TSRI_OPENCL_CHOOSE_TUNE_H
#define TSRI_OPENCL_CHOOSE_TUNE_H

#include "tessera/backend.h"

extern const tsr_backend_tune tsri_opencl_tune;

#endif
