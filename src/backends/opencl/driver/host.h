/* backends/opencl/driver/host.h - what the backend tells its host and asks of it, and the process
 * that may use the drivers. */
#ifndef TSRI_OPENCL_DRIVER_HOST_H
#define TSRI_OPENCL_DRIVER_HOST_H

#include "backends/opencl/driver/state.h"

/* Each entry of the table, and of an extension, begins with it: failures in this thread
 * are reported to this state's host from now on. */
void tsri_opencl_enter(const tsr_state *state);
/* This process was forked from the one that loaded the drivers, whose threads it has not;
 * check says so as a failure. */
bool tsri_opencl_forked(void);
tsr_status tsri_opencl_check_process(void);
/* Said before this process first asks the drivers anything. */
void tsri_opencl_loads_drivers(void);
/* A line to the host's log. */
__attribute__((format(printf, 3, 4))) void
tsri_opencl_log(const tsr_state *state, tsr_log_level level, const char *format, ...);

/* How far long work is; TSR_E_CANCELLED, said, where the host asks to stop. */
tsr_status tsri_opencl_progress(const tsr_state *state, const char *doing, uint64_t done,
                                uint64_t total);
/* The same where nothing can stop; whether the host asks to. */
bool tsri_opencl_tell(const tsr_state *state, const char *doing, uint64_t done, uint64_t total);
/* Whether the host asks to stop. */
bool tsri_opencl_stops(const tsr_state *state);

#endif
