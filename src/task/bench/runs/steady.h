/* task/bench/runs/steady.h - how long a thing is measured: until its times are steady, and then until
 * there are enough of them. */
#ifndef TSRI_TASK_BENCH_STEADY_H
#define TSRI_TASK_BENCH_STEADY_H

#include "tessera/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When to stop. */
typedef struct tsri_task_rule {
    uint32_t least, most; /* samples */
    double least_seconds, most_seconds;
    bool cold; /* the first run counts: there is no warm-up */
} tsri_task_rule;

/* Why the median of samples is uncertain; 0: not for this reason. */
typedef struct tsri_task_noise {
    uint32_t unsteady; /* runs, with those of the warm-up, whose times never became steady */
    double interval;   /* half the median's 95 % interval, as a share of it, if above 5 % */
    double apart;      /* how far medians of five parts differ, as a share of it, if above 10 % */
    double
        passes; /* by how much the larger of two passes' medians is above the other, if above 5 % */
    double medians[2]; /* of the passes; 0: there was one */
} tsri_task_noise;

typedef struct tsri_task_samples {
    double *values; /* [n] in the order in which they were measured */
    size_t room;
    uint32_t n, warmup;
    uint32_t earlier;      /* how many of them are of an earlier pass; 0: there was none */
    tsri_task_noise noise; /* of their times */
} tsri_task_samples;

/* Kendall's tau of values over their order: 1 where each is larger than the one before, -1 where
 * each is smaller. */
double tsri_task_trend(const double *values, uint32_t n);
/* Whether the last five of n values show no trend, and none of them is more than 20 % above their
 * median. False for fewer than five. */
bool tsri_task_steady(const double *values, uint32_t n);

/* Calls `once` until its times are steady (at most 20 times or a third of the rule's time), and
 * then for samples: seconds. Frees nothing; the caller frees values. */
tsr_status tsri_task_sample(const tsri_task_rule *rule,
                            tsr_status (*once)(void *data, double *seconds), void *data,
                            tsri_task_samples *out);

/* Puts the samples of an earlier pass before those of this one, and sets `passes`. */
tsr_status tsri_task_samples_join(const tsri_task_samples *before, tsri_task_samples *samples);

/* Sets why n >= 1 samples leave their median uncertain: `interval` and `apart`. */
tsr_status tsri_task_noise_of(const double *values, uint32_t n, tsri_task_noise *out);
bool tsri_task_is_noisy(const tsri_task_noise *noise);

typedef struct tsri_task_spread {
    double lowest, p1, p10, median, p90, p99, highest;
    uint32_t outliers; /* more than three scaled median deviations from the median */
} tsri_task_spread;
/* Of n >= 1 values; `sorted` is room for n. Percentiles are samples: the nearest rank. */
tsri_task_spread tsri_task_spread_of(const double *values, uint32_t n, double *sorted);

#endif
