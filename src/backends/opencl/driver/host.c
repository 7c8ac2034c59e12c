/* backends/opencl/driver/host.c - what the backend tells its host and asks it for: failures, lines
 * of the log, progress, a request to stop; and whether this process may use the drivers. */
#include "backends/opencl/driver/host.h"
#include "base/error.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

/* Code that fails deep inside has no state at hand, so each entry of the backend's table sets the
 * host of this thread's call. A host lives until its close returns, and is not used after that. */
static _Thread_local const tsr_host *current_host;
static _Thread_local char record[2048];

void tsri_opencl_enter(const tsr_state *state) {
    current_host = state->host;
}

void tsri_base_report(tsr_status status, const char *sentence) {
    if (sentence != record)
        snprintf(record, sizeof record, "%s", sentence);
    if (current_host && current_host->report)
        current_host->report(current_host->data, status, record);
}

const char *tsri_base_reported(void) {
    return record;
}

void tsri_opencl_log(const tsr_state *state, tsr_log_level level, const char *format, ...) {
    char line[2048];
    va_list args;
    if (!state->host->log)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    state->host->log(state->host->data, level, line);
}

static int progress(const tsr_state *state, const tsr_progress *now) {
    const tsr_host *host = state->host;
    const bool has = host->struct_size >= offsetof(tsr_host, progress) + sizeof host->progress;
    return has && host->progress ? host->progress(host->data, now) : 0;
}

bool tsri_opencl_tell(const tsr_state *state, const char *doing, uint64_t done, uint64_t total) {
    const tsr_progress now = {
        .struct_size = sizeof now, .doing = doing, .done = done, .total = total};
    return progress(state, &now) != 0;
}

tsr_status tsri_opencl_progress(const tsr_state *state, const char *doing, uint64_t done,
                                uint64_t total) {
    if (!tsri_opencl_tell(state, doing, done, total))
        return TSR_OK;
    return tsri_base_fail(TSR_E_CANCELLED, "stopped while %s", doing);
}

bool tsri_opencl_stops(const tsr_state *state) {
    return progress(state, NULL) != 0;
}

static atomic_long loaded_by; /* the process that loaded the drivers; 0: none yet */

bool tsri_opencl_forked(void) {
    const long process = atomic_load(&loaded_by);
    return process && process != getpid();
}

tsr_status tsri_opencl_check_process(void) {
    if (!tsri_opencl_forked())
        return TSR_OK;
    return tsri_base_fail(TSR_E_STATE,
                          "this process was forked from process %ld, which had loaded OpenCL's "
                          "drivers; they do not work here: fork before the first engine is created",
                          atomic_load(&loaded_by));
}
void tsri_opencl_loads_drivers(void) {
    atomic_store(&loaded_by, getpid());
}
