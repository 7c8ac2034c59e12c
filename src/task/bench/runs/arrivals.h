/* task/bench/runs/arrivals.h - requests to a scheduler that come at random times, and when their
 * tokens come. */
#ifndef TSRI_TASK_BENCH_ARRIVALS_H
#define TSRI_TASK_BENCH_ARRIVALS_H

#include "tessera/model.h"

/* Requests of one size; no token ends one, so each has `tokens` tokens, whatever the weights are. */
typedef struct tsri_task_arrivals_options {
    int64_t prompt, tokens; /* of a request; tokens: at least 2 */
    uint32_t slots;         /* requests that run at the same time; others wait */
    uint32_t requests;      /* of a run */
} tsri_task_arrivals_options;

typedef struct tsri_task_arrivals tsri_task_arrivals;

/* The caller destroys *out before the model is closed. */
tsr_status tsri_task_arrivals_create(tsr_model *model, const tsri_task_arrivals_options *options,
                                     tsri_task_arrivals **out);
void tsri_task_arrivals_destroy(tsri_task_arrivals **arrivals);

/* Sets when each of n requests arrives, in seconds: the gaps, of which the first is that before the
 * first request, are drawn from an exponential distribution by the seed, and scaled so that their
 * mean is 1 / rate. */
void tsri_task_arrivals_draw(uint64_t seed, double rate, uint32_t n, double *due);

/* Runs the requests at a rate in requests per second; 0: all of them at once. Of each request, in the
 * order of arrival, sets the seconds from its arrival to its first token, and those of each token
 * after it; `seconds` is from the first arrival to the last token. */
tsr_status tsri_task_arrivals_run(tsri_task_arrivals *arrivals, double rate, uint64_t seed,
                                  double *first, double *each, double *seconds);

#endif
