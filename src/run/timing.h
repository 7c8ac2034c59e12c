/* run/timing.h - how long a plan takes, by the events of its devices. */
#ifndef TSRI_RUN_TIMING_H
#define TSRI_RUN_TIMING_H

#include "run/run.h"

/* A prepared plan with what one run of it binds. The context has no other plan that runs
 * meanwhile. */
typedef struct tsri_run_timed {
    tsri_run_context *context;
    tsri_run_plan *plan;
    const int64_t *sizes; /* [TSR_SYMBOLS] */
    const tsri_run_binding *in;
    size_t n_in;
    uint64_t measured; /* nanoseconds so far */
} tsri_run_timed;

/* Runs it once, without reading the outputs. 0 nanoseconds: the devices measure nothing. */
tsr_status tsri_run_time(tsri_run_timed *timed, uint64_t *nanoseconds);

/* The median of n >= 1 times, which are sorted. */
double tsri_run_median(uint64_t *times, size_t n);

#endif
