/* backends/opencl/driver/marker.h - files that say that a driver is about to do something that may
 * crash it, and what a later run concludes from one whose process is gone.
 *
 * While a driver lists devices, builds, or runs a plan for the first time, there is a marker:
 * driver.<process>-<n>.tmp in the folder of kernels. It is locked as long as the process lives, so
 * several processes don't take each other's markers for crashes, however they end. A program that
 * catches its own crash records it in driver.<process>-crash.tmp ("signal 7"). Not every crash can
 * be caught (LLVM handles an abort itself), so driver.unfinished keeps what the last run was doing
 * when it ended: a second run that ends while doing the same counts as a crash, too. */
#ifndef TSRI_OPENCL_DRIVER_MARKER_H
#define TSRI_OPENCL_DRIVER_MARKER_H

#include "backends/opencl/driver/state.h"

typedef struct tsri_opencl_marker tsri_opencl_marker;

/* `what` is the driver or device, in words for the user. NULL where there is no cache folder. */
tsri_opencl_marker *tsri_opencl_mark(const tsr_state *state, const char *what);
void tsri_opencl_unmark(tsri_opencl_marker **marker);

/* Removes the markers of processes that are gone; true where there were any: every driver must then
 * be tried again. Where such a process crashed, or the one before it ended while doing the same,
 * pocl's kernel cache is cleared if it is in our cache folder, and named in a warning if not: a
 * damaged file there crashes pocl in every run. */
bool tsri_opencl_look_after_crashes(const tsr_state *state);

/* The folder of pocl's kernel cache, in new memory; NULL where it has none. */
char *tsri_opencl_pocl_cache(void);

#endif
