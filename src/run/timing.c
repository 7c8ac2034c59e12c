/* run/timing.c - times a plan by the events of its devices. */
#include "run/timing.h"

#include "base/error.h"

#include <stdlib.h>

static void add_time(void *data, const tsri_run_profile_entry *entry) {
    *(uint64_t *)data += entry->nanoseconds;
}

tsr_status tsri_run_time(tsri_run_timed *timed, uint64_t *nanoseconds) {
    uint64_t total = 0;
    TRY(tsri_run_execute(timed->plan, timed->sizes, timed->in, timed->n_in, NULL, 0));
    TRY(tsri_run_profile(timed->context, add_time, &total));
    *nanoseconds = total - timed->measured;
    timed->measured = total;
    return TSR_OK;
}

static int ascending(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

double tsri_run_median(uint64_t *times, size_t n) {
    qsort(times, n, sizeof *times, ascending);
    return n % 2 ? (double)times[n / 2] : ((double)times[n / 2 - 1] + (double)times[n / 2]) / 2;
}
