/* backends/opencl/driver/state.h - the open backend: the devices that were found, and notes about
 * what gives none. */
#ifndef TSRI_OPENCL_DRIVER_STATE_H
#define TSRI_OPENCL_DRIVER_STATE_H

#include "backends/opencl/driver/facts.h"

#include <stdatomic.h>

/* Option "commands": where launches are recorded (launch/commands.h). */
enum { TSRI_OPENCL_COMMANDS_NEVER, TSRI_OPENCL_COMMANDS_ON_GPUS, TSRI_OPENCL_COMMANDS_ALWAYS };

typedef struct tsri_opencl_builders tsri_opencl_builders; /* builders.h */

struct tsr_state {
    const tsr_host *host;
    uint32_t threads; /* option "threads", for devices opened without a number of threads; 0: all */
    uint64_t launch_limit; /* option "launch_limit": multiply-adds of a launch; 0: the variant's */
    /* Option "chain": the number of ops of a plan from which on they are one launch
     * (launch/chain.h); 0: never. */
    uint32_t chain;
    uint32_t commands;
    uint64_t rest_ns; /* option "rest_ms": how long to wait for a failed device's work */
    size_t n_found, found_capacity;
    tsri_opencl_found *found;
    size_t n_notes, notes_capacity;
    char **notes;
    char *vendors; /* a folder of vendor files without the drivers that die, for the helpers, which
                      load drivers anew; NULL: none dies. Removed when the backend closes */
    /* Builders whose compiler was started while drivers were tried, for the first device that runs
     * chains; NULL: none, or a device has them. */
    _Atomic(tsri_opencl_builders *) builders;
    atomic_bool tuning_warned; /* the user was told that a file of tuned values is not used */
};

/* Notes a sentence about a driver or platform that gives no device. */
__attribute__((format(PRINTF, 2, 3))) tsr_status tsri_opencl_note(tsr_state *state,
                                                                  const char *format, ...);

void tsri_opencl_state_free(tsr_state *state);

#endif
