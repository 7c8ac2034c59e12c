/* backends/opencl/driver/discover.h - every device that the drivers offer. */
#ifndef TSRI_OPENCL_DRIVER_DISCOVER_H
#define TSRI_OPENCL_DRIVER_DISCOVER_H

#include "backends/opencl/driver/state.h"

/* Fills found and notes; never fails for what a driver lacks. */
tsr_status tsri_opencl_discover(tsr_state *state);

#endif
