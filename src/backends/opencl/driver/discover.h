/* backends/opencl/driver/discover.h - finds every device that the drivers offer. */
#ifndef TSRI_OPENCL_DRIVER_DISCOVER_H
#define TSRI_OPENCL_DRIVER_DISCOVER_H

#include "backends/opencl/driver/state.h"

/* Fills the state's devices and notes. It does not fail where a driver does. */
tsr_status tsri_opencl_discover(tsr_state *state);

#endif
