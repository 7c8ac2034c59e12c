/* backends/opencl/driver/helper.h - libexec/tessera/probe: a process of its own, with a time limit,
 * for calls that may crash a driver or never return, or take long. It is spawned, never forked: drivers hang in a
 * forked child. */
#ifndef TSRI_OPENCL_DRIVER_HELPER_H
#define TSRI_OPENCL_DRIVER_HELPER_H

#include "backends/opencl/driver/state.h"
#include "base/bytes.h"
#include "base/system/child.h"

enum { TSRI_OPENCL_LAST_WORDS = 400 };

typedef struct tsri_opencl_helper {
    tsri_system_child child; /* its input and output are one socket */
    const char *input;       /* borrowed until the helper ends */
    size_t input_size, sent;
    tsri_bytes said;                   /* its stdout */
    char last[TSRI_OPENCL_LAST_WORDS]; /* the end of its stderr */
    size_t n_last;
    bool late; /* it was killed because it hung or computed without end */
} tsri_opencl_helper;

/* Where the helper is: TESSERA_PROBE, or beside the plugin or the program that this was linked
 * into. NULL where it is not found. path: PATH_MAX bytes. */
const char *tsri_opencl_helper_find(char *path);
/* TESSERA_PROBE_SECONDS, else the usual limit for what it is to do. */
unsigned tsri_opencl_helper_seconds(unsigned usual);
/* argv and env end with NULL; env NULL: this process's environment. False where it can't be
 * started. */
bool tsri_opencl_helper_start(tsri_opencl_helper *helper, const char *path, const char *const *argv,
                              const char *const *env, const char *input, size_t input_size);
/* The same, for a helper that is given its input piece by piece (`send`) and answers by lines. */
bool tsri_opencl_helper_open(tsri_opencl_helper *helper, const char *path, const char *const *argv,
                             const char *const *env);
/* False where the helper does not take all of it within a second. */
bool tsri_opencl_helper_send(tsri_opencl_helper *helper, const char *data, size_t n);
/* Reads what an opened helper has said so far, without waiting. *line: whether it has ended a line
 * since the last call. False where the helper has ended. */
bool tsri_opencl_helper_hear(tsri_opencl_helper *helper, bool *line);
/* This process's environment, but the loader sees the drivers of `vendors` alone; *out NULL, which
 * means this process's, where `vendors` is NULL. For the trial of a driver, `pocl` is the folder of
 * pocl's cache, and there are no layers; else it is NULL. *out holds pointers into *text; both are
 * new memory. */
tsr_status tsri_opencl_helper_environment(const char *vendors, const char *pocl, tsri_bytes *text,
                                          const char ***out);

/* How long a helper may take: see `finish`. */
typedef struct tsri_opencl_patience {
    uint64_t allowed;     /* nanoseconds */
    uint64_t end;         /* the processor time at which it is late */
    uint64_t begun, used; /* when the current period began, and the time used before it */
} tsri_opencl_patience;
void tsri_opencl_patience_begin(tsri_opencl_patience *patience, const tsri_opencl_helper *helper,
                                unsigned seconds);
bool tsri_opencl_helper_is_late(const tsri_opencl_helper *helper, tsri_opencl_patience *patience);
/* Waits until the helper ends. It is killed, and `late` is set, once it has used `seconds` of
 * processor time, or less than 1 % of one processor over as long: a busy machine makes it slow, and
 * that is not a fault. TSR_E_CANCELLED, with the helper killed, where the host asks to stop. */
tsr_status tsri_opencl_helper_finish(tsri_opencl_helper *helper, const tsr_state *state,
                                     unsigned seconds);
void tsri_opencl_helper_clear(tsri_opencl_helper *helper);
/* How the helper ended badly: "crashed (SIGSEGV)", "ended with exit code 1". */
void tsri_opencl_helper_end(const tsri_opencl_helper *helper, char *text, size_t size);
/* The last line of its stderr, without control characters; "" where it wrote nothing. */
void tsri_opencl_helper_last_words(const tsri_opencl_helper *helper, char *text, size_t size);

#endif
