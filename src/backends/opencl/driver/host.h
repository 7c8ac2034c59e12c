/* backends/opencl/driver/host.h - what the backend tells its host and asks it for, and the process
 * that may use the drivers. */
#ifndef TSRI_OPENCL_DRIVER_HOST_H
#define TSRI_OPENCL_DRIVER_HOST_H

#include "backends/opencl/driver/state.h"

/* Every entry of the table, and of an extension, calls this first: from now on, failures in this
 * thread are reported to this state's host. */
void tsri_opencl_enter(const tsr_state *state);
/* Whether this process was forked from the one that loaded the drivers, and so has none of their
 * threads; `check` gives it as a failure. */
bool tsri_opencl_forked(void);
tsr_status tsri_opencl_check_process(void);
/* Called before this process first uses the drivers. */
void tsri_opencl_loads_drivers(void);
/* Writes a line to the host's log. */
__attribute__((format(PRINTF, 3, 4))) void
tsri_opencl_log(const tsr_state *state, tsr_log_level level, const char *format, ...);

/* Reports the progress of long work; TSR_E_CANCELLED, with the error record set, where the host
 * asks to stop. */
tsr_status tsri_opencl_progress(const tsr_state *state, const char *doing, uint64_t done,
                                uint64_t total);
/* The same for work that can't stop; gives whether the host asks to stop. */
bool tsri_opencl_tell(const tsr_state *state, const char *doing, uint64_t done, uint64_t total);
/* Whether the host asks to stop. */
bool tsri_opencl_stops(const tsr_state *state);

#endif
