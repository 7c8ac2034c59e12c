/* task/bench/runs/steady.c - measures something until its times are steady and there are enough. */
#include "task/bench/runs/steady.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = 5, MOST_WARMUP = 20, PARTS = 5 };
#define TREND 0.6        /* of five values: at most eight of ten pairs lie in the same order */
#define ABOVE 1.2        /* times the median of the last five */
#define PASSES 1.05      /* the larger of two passes' medians over the other */
#define WIDE 0.05        /* half the 95 % interval of the median, as a share of it */
#define WARMUP (1.0 / 3) /* of the rule's time */

double tsri_task_trend(const double *values, uint32_t n) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i + 1; j < n; j++)
            sum += (values[j] > values[i]) - (values[j] < values[i]);
    return n < 2 ? 0 : (double)sum / ((double)n * (n - 1) / 2);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(const double *sorted, uint32_t n) {
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

bool tsri_task_steady(const double *values, uint32_t n) {
    double sorted[LAST];
    if (n < LAST)
        return false;
    const double *last = values + n - LAST;
    memcpy(sorted, last, sizeof sorted);
    qsort(sorted, LAST, sizeof *sorted, by_size);
    return fabs(tsri_task_trend(last, LAST)) < TREND &&
           sorted[LAST - 1] <= ABOVE * middle(sorted, LAST);
}

/* The sample that the share p of all is not above. */
static double rank(const double *sorted, uint32_t n, double p) {
    const uint32_t at = (uint32_t)ceil(p * n);
    return sorted[at ? at - 1 : 0];
}

tsri_task_spread tsri_task_spread_of(const double *values, uint32_t n, double *sorted) {
    tsri_task_spread s = {0};
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    s.lowest = sorted[0];
    s.highest = sorted[n - 1];
    s.median = middle(sorted, n);
    s.p1 = rank(sorted, n, 0.01);
    s.p10 = rank(sorted, n, 0.1);
    s.p90 = rank(sorted, n, 0.9);
    s.p99 = rank(sorted, n, 0.99);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = fabs(values[i] - s.median);
    qsort(sorted, n, sizeof *sorted, by_size);
    const double far = 3 * 1.4826 * middle(sorted, n); /* 1.4826: as a normal deviation */
    for (uint32_t i = 0; i < n; i++)
        s.outliers += fabs(values[i] - s.median) > far;
    return s;
}

/* By how much the medians of five parts, in the order of time, differ: samples that follow each
 * other resemble each other, which the interval does not know. */
static double parts_apart(const double *values, uint32_t n, double *sorted) {
    double lowest = HUGE_VAL, highest = 0;
    if (n < PARTS * LAST)
        return 0;
    for (uint32_t i = 0; i < PARTS; i++) {
        const uint32_t from = (uint32_t)((uint64_t)i * n / PARTS),
                       to = (uint32_t)((uint64_t)(i + 1) * n / PARTS);
        memcpy(sorted, values + from, (to - from) * sizeof *sorted);
        qsort(sorted, to - from, sizeof *sorted, by_size);
        lowest = fmin(lowest, middle(sorted, to - from));
        highest = fmax(highest, middle(sorted, to - from));
    }
    return highest - lowest;
}

/* The interval is 1.57 times the distance of the quartiles, over the root of the number of samples
 * (McGill, Tukey, Larsen 1978). */
tsr_status tsri_task_noise_of(const double *values, uint32_t n, tsri_task_noise *out) {
    double *sorted = NULL;
    TRY(tsri_base_new(n, sizeof *sorted, &sorted));
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    const double half = 1.57 * (rank(sorted, n, 0.75) - rank(sorted, n, 0.25)) / sqrt(n),
                 median = middle(sorted, n), apart = parts_apart(values, n, sorted);
    free(sorted);
    out->interval = half > WIDE * median ? half / median : 0;
    out->apart = apart > 2 * WIDE * median ? apart / median : 0;
    return TSR_OK;
}

tsr_status tsri_task_samples_join(const tsri_task_samples *before, tsri_task_samples *s) {
    const uint32_t earlier = before->n, n = s->n;
    double *sorted = NULL, *const medians = s->noise.medians;
    if (!earlier || !n)
        return TSR_OK;
    TRY(tsri_base_new(earlier > n ? earlier : n, sizeof *sorted, &sorted));
    medians[0] = tsri_task_spread_of(before->values, earlier, sorted).median;
    medians[1] = tsri_task_spread_of(s->values, n, sorted).median;
    free(sorted);
    const double ratio = fmax(medians[0], medians[1]) / fmin(medians[0], medians[1]);
    s->noise.passes = ratio > PASSES ? ratio - 1 : 0;
    s->noise.unsteady += before->noise.unsteady;
    TRY(tsri_base_grow(&s->values, &s->room, (size_t)earlier + n, sizeof *s->values));
    memmove(s->values + earlier, s->values, n * sizeof *s->values);
    memcpy(s->values, before->values, earlier * sizeof *s->values);
    s->n = earlier + n;
    s->earlier = earlier;
    s->warmup += before->warmup;
    return TSR_OK;
}

bool tsri_task_is_noisy(const tsri_task_noise *noise) {
    return noise->unsteady || noise->interval > 0 || noise->apart > 0 || noise->passes > 0;
}

static tsr_status warm_up(const tsri_task_rule *rule, tsr_status (*once)(void *, double *),
                          void *data, tsri_task_samples *out, bool *steady) {
    double times[MOST_WARMUP], total = 0;
    uint32_t n = 0;
    *steady = false;
    while (n < MOST_WARMUP && !*steady && (!n || total < WARMUP * rule->most_seconds)) {
        TRY(once(data, &times[n]));
        total += times[n++];
        *steady = tsri_task_steady(times, n);
    }
    out->warmup = n;
    return TSR_OK;
}

tsr_status tsri_task_sample(const tsri_task_rule *rule,
                            tsr_status (*once)(void *data, double *seconds), void *data,
                            tsri_task_samples *out) {
    bool steady = false;
    double total = 0;
    out->n = out->warmup = out->earlier = 0;
    out->noise = (tsri_task_noise){0};
    if (!rule->cold)
        TRY(warm_up(rule, once, data, out, &steady));
    while (out->n < rule->most && (!out->n || total < rule->most_seconds) &&
           (out->n < rule->least || total < rule->least_seconds)) {
        TRY(tsri_base_grow(&out->values, &out->room, out->n + 1, sizeof *out->values));
        TRY(once(data, &out->values[out->n]));
        total += out->values[out->n++];
    }
    TRY(tsri_task_noise_of(out->values, out->n, &out->noise));
    if (!steady && !rule->cold && out->n >= LAST && !tsri_task_steady(out->values, out->n))
        out->noise.unsteady = out->warmup + out->n;
    return TSR_OK;
}
