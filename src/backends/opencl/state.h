/* backends/opencl/state.h - the open backend: the devices that were found, and what was found but
 * gives none. */
#ifndef TSRI_OPENCL_STATE_H
#define TSRI_OPENCL_STATE_H

#include "backends/opencl/rows.h"

#include <stdatomic.h>

/* A device as discovered; strings are the entry's. */
typedef struct tsri_opencl_found {
    cl_platform_id platform;
    cl_device_id id;
    int version; /* of the device: 102 for OpenCL 1.2 */
    char *platform_version, *extensions;
    char *died; /* why it is not usable, where it died when it was tried; NULL: it did not */
    uint64_t vendor_id;
    bool pocl, nvidia, oclgrind;
    bool exact_division; /* can round division and square root correctly */
    size_t max_items[3];
    tsri_opencl_facts facts; /* common's strings are owned: free_found */
} tsri_opencl_found;

struct tsr_state {
    const tsr_host *host;
    uint32_t threads; /* option "threads", of devices opened without a number; 0: all */
    uint64_t
        launch_limit; /* option "launch_limit": multiply-adds of one launch; 0: the row's own */
    uint32_t chain; /* option "chain": ops of a plan from which on they are one launch (chain.h); 0:
                       never */
    uint64_t rest_ns; /* option "rest_ms": how long a failed device's work is waited for */
    size_t n_found, found_capacity;
    tsri_opencl_found *found;
    size_t n_notes, notes_capacity;
    char **notes;
    atomic_bool tuning_warned; /* the user was told of a file of tuned values that is not used */
};

/* discover.c: fills found and notes; never fails for what a driver lacks. */
tsr_status tsri_opencl_discover(tsr_state *state);
__attribute__((format(printf, 2, 3))) tsr_status tsri_opencl_note(tsr_state *state,
                                                                  const char *format, ...);

/* facts.c */
tsr_status tsri_opencl_read_facts(cl_platform_id platform, cl_device_id id,
                                  tsri_opencl_found *found);
void tsri_opencl_free_found(tsri_opencl_found *found);
/* A string of a platform or device in new memory; "" where the driver has none; NULL when memory is
 * out. */
char *tsri_opencl_platform_text(cl_platform_id platform, cl_platform_info what);
char *tsri_opencl_device_text(cl_device_id id, cl_device_info what);
/* True where the word is in the space-separated list. */
bool tsri_opencl_listed(const char *list, const char *word);

/* plugin.c: each entry of the table, and of an extension, begins with it: failures in this thread
 * are reported to this state's host from now on. */
void tsri_opencl_enter(const tsr_state *state);
/* plugin.c: this process was forked from the one that loaded the drivers, whose threads it has not;
 * check says so as a failure. */
bool tsri_opencl_forked(void);
tsr_status tsri_opencl_check_process(void);
/* plugin.c: a line to the host's log. */
__attribute__((format(printf, 3, 4))) void
tsri_opencl_log(const tsr_state *state, tsr_log_level level, const char *format, ...);

/* plugin.c: how far long work is; TSR_E_CANCELLED, said, where the host asks to stop. */
tsr_status tsri_opencl_progress(const tsr_state *state, const char *doing, uint64_t done,
                                uint64_t total);
/* The same where nothing can stop; whether the host asks to. */
bool tsri_opencl_tell(const tsr_state *state, const char *doing, uint64_t done, uint64_t total);
/* Whether the host asks to stop. */
bool tsri_opencl_stops(const tsr_state *state);

#endif
