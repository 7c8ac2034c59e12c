/* backends/opencl/driver/marker.h - a file that says that a driver is about to do what it may die
 * of, and what a later run makes of one whose process is gone.
 *
 * A driver lists devices, builds, or runs a plan for the first time under a marker,
 * driver.<process>-<n>.tmp in the folder of kernels, locked as long as the process lives; so
 * several processes don't take each other's for a crash, however they end. A program that catches
 * its own crash says so in driver.<process>-crash.tmp ("signal 7"). Not every crash can be caught
 * (LLVM takes an abort for itself), so driver.unfinished keeps what the last run ended in: a second
 * run that ends in the same is a crash, too. */
#ifndef TSRI_OPENCL_DRIVER_MARKER_H
#define TSRI_OPENCL_DRIVER_MARKER_H

#include "backends/opencl/driver/state.h"

typedef struct tsri_opencl_marker tsri_opencl_marker;

/* `what` is the driver or device, for the user. NULL where there is no cache folder. */
tsri_opencl_marker *tsri_opencl_mark(const tsr_state *state, const char *what);
void tsri_opencl_unmark(tsri_opencl_marker **marker);

/* Removes the markers of processes that are gone; true where there were any: then every driver is
 * to be tried again. Where the process crashed or the one before it ended in the same, pocl's
 * kernel cache is cleared if it lies in our cache folder, and named if not: pocl dies of a damaged
 * file there in every run. */
bool tsri_opencl_look_after_crashes(const tsr_state *state);

/* The folder of pocl's kernel cache, new memory; NULL: it has none. */
char *tsri_opencl_pocl_cache(void);

#endif
