/* base/record.c - the one error record of a process; in the library only, never in a plugin. */
#include "base/error.h"

#include <stdio.h>

static _Thread_local char record[2048];

void tsri_base_report(tsr_status status, const char *sentence) {
    (void)status;
    if (sentence != record)
        snprintf(record, sizeof record, "%s", sentence);
}

const char *tsri_base_reported(void) {
    return record;
}

const char *tsr_error_last(void) {
    return record;
}

size_t tsr_plain_text(char *text, size_t n) {
    return tsri_base_plain(text, n);
}

const char *tsr_version(void) {
    return TESSERA_VERSION;
}

const char *tsr_status_name(tsr_status status) {
    static const char *const names[] = {
        "ok",     "argument", "unsupported", "host memory", "device memory", "device", "build",
        "format", "io",       "state",       "cancelled",   "internal",      "peer"};
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown";
}
