/* task/results/statistics.h - medians, ranks and means. Nothing here draws numbers: the same values
 * give the same result. */
#ifndef TSRI_TASK_RESULTS_STATISTICS_H
#define TSRI_TASK_RESULTS_STATISTICS_H

#include "tessera/status.h"

#include <stddef.h>

/* Of n >= 1 values; they are sorted in place. */
double tsri_results_median(double *values, size_t n);

typedef struct tsri_results_shift {
    double ratio, low,
        high; /* of b to a; low 0 and high infinity: too few values for an interval */
    double p; /* two-sided */
} tsri_results_shift;

/* How many times larger the values of b are: the median of all ratios b[j] / a[i], and its interval
 * by the ranks that the Mann-Whitney test would not refuse at this confidence. All values are
 * positive; at most 10000 ratios are formed (of more values, every k-th in order of size). */
tsr_status tsri_results_compare_values(const double *a, size_t n, const double *b, size_t m,
                                       double confidence, tsri_results_shift *out);

/* Harmonic mean of n shares, and 0 where one of them is 0: how portable performance is (Pennycook,
 * Sewall, Lee 2016, arXiv:1611.07409). */
double tsri_results_harmonic(const double *shares, size_t n);

#endif
