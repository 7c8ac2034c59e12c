/* task/results/statistics.c - the Mann-Whitney test and the interval that belongs to it. Up to 30
 * values a side without ties, the distribution of the ranks is counted exactly; beyond that it is
 * taken as normal, with the correction for ties. */
#include "task/results/statistics.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT = 30, MOST = 100 };
static const double ROUNDING = 1e-12; /* of a probability that was subtracted from 1 */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double tsri_results_median(double *values, size_t n) {
    qsort(values, n, sizeof *values, by_size);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double tsri_results_harmonic(const double *shares, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(shares[i] > 0))
            return 0;
        sum += 1 / shares[i];
    }
    return n ? (double)n / sum : 0;
}

/* ---- the distribution of U ---- */

/* probability[u] = P(U <= u) where nothing differs, for u in 0 .. n m: the numbers of ways in which
 * U is u are the coefficients of the Gaussian binomial of n + m over n. */
static void count_exactly(size_t n, size_t m, double *probability) {
    const size_t most = n * m;
    double all = 0;
    memset(probability, 0, (most + 1) * sizeof *probability);
    probability[0] = 1;
    for (size_t i = 1; i <= n; i++) {
        for (size_t u = most; u >= m + i && u <= most; u--) /* times 1 - q^(m+i) */
            probability[u] -= probability[u - m - i];
        for (size_t u = i; u <= most; u++) /* over 1 - q^i */
            probability[u] += probability[u - i];
    }
    for (size_t u = 0; u <= most; u++)
        all += probability[u];
    for (size_t u = 0; u <= most; u++)
        probability[u] = probability[u] / all + (u ? probability[u - 1] : 0);
}

static double normal_tail(double z) {
    return 0.5 * erfc(z / sqrt(2));
}

/* The largest k such that P(U < k) <= alpha / 2, by the normal distribution. */
static double normal_rank(double mean, double deviation, double alpha) {
    double low = 0, high = mean + 1;
    for (int i = 0; i < 60; i++) {
        const double k = (low + high) / 2;
        if (normal_tail((mean - k + 0.5) / deviation) <= alpha / 2)
            low = k;
        else
            high = k;
    }
    return floor(low);
}

typedef struct ranks {
    double u, ties; /* pairs in which b is larger, ties half; the sum of t^3 - t over ties */
} ranks;

static ranks count_pairs(const double *a, size_t n, const double *b, size_t m) {
    ranks r = {0};
    double *all = NULL;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            r.u += b[j] > a[i] ? 1 : b[j] == a[i] ? 0.5 : 0;
    if (tsri_base_new(n + m, sizeof *all, &all) != TSR_OK)
        return r;
    memcpy(all, a, n * sizeof *a);
    memcpy(all + n, b, m * sizeof *b);
    qsort(all, n + m, sizeof *all, by_size);
    for (size_t i = 0, k; i < n + m; i = k) {
        for (k = i; k < n + m && all[k] == all[i]; k++)
            ;
        r.ties += pow((double)(k - i), 3) - (double)(k - i);
    }
    free(all);
    return r;
}

/* p, and how many of the outer ratios on each side lie outside the interval; -1: all. */
static tsr_status test_ranks(const double *a, size_t n, const double *b, size_t m, double alpha,
                             double *p, double *outside) {
    const ranks r = count_pairs(a, n, b, m);
    const double pairs = (double)n * (double)m, all = (double)(n + m), mean = pairs / 2,
                 less = fmin(r.u, pairs - r.u);
    if (n <= EXACT && m <= EXACT && r.ties == 0) {
        double *probability = NULL;
        TRY(tsri_base_new(n * m + 1, sizeof *probability, &probability));
        count_exactly(n, m, probability);
        *p = fmin(1, 2 * probability[(size_t)less]);
        *outside = -1;
        for (size_t k = 0; k <= n * m && probability[k] <= alpha / 2 + ROUNDING; k++)
            *outside = (double)k;
        free(probability);
        return TSR_OK;
    }
    const double variance = pairs / 12 * (all + 1 - r.ties / (all * (all - 1)));
    const double deviation = sqrt(fmax(variance, 1e-300));
    *p = variance > 0 ? fmin(1, 2 * normal_tail((mean - less - 0.5) / deviation)) : 1;
    *outside = normal_rank(mean, sqrt(pairs / 12 * (all + 1)), alpha) - 1;
    return TSR_OK;
}

/* ---- ratios ---- */

/* At most MOST of the values, evenly by size. */
static size_t thin(const double *values, size_t n, double *out) {
    const size_t kept = n < MOST ? n : MOST;
    for (size_t i = 0; i < kept; i++)
        out[i] = values[kept < 2 ? 0 : i * (n - 1) / (kept - 1)];
    return kept;
}

static tsr_status sorted_copy(const double *values, size_t n, double **out) {
    TRY(tsri_base_new(n, sizeof **out, out));
    memcpy(*out, values, n * sizeof *values);
    qsort(*out, n, sizeof **out, by_size);
    return TSR_OK;
}

static tsr_status compare(const double *a, size_t n, const double *b, size_t m, double confidence,
                          tsri_results_shift *out) {
    double some_a[MOST], some_b[MOST], *ratios = NULL, outside;
    n = thin(a, n, some_a);
    m = thin(b, m, some_b);
    TRY(test_ranks(some_a, n, some_b, m, 1 - confidence, &out->p, &outside));
    TRY(tsri_base_new(n * m, sizeof *ratios, &ratios));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            ratios[i * m + j] = some_b[j] / some_a[i];
    out->ratio = tsri_results_median(ratios, n * m);
    const bool bounded = outside >= 0 && 2 * (outside + 1) <= (double)(n * m);
    out->low = bounded ? ratios[(size_t)outside] : 0;
    out->high = bounded ? ratios[n * m - 1 - (size_t)outside] : (double)INFINITY;
    free(ratios);
    return TSR_OK;
}

tsr_status tsri_results_compare_values(const double *a, size_t n, const double *b, size_t m,
                                       double confidence, tsri_results_shift *out) {
    double *in_a = NULL, *in_b = NULL;
    tsr_status status = sorted_copy(a, n, &in_a);
    if (status == TSR_OK)
        status = sorted_copy(b, m, &in_b);
    if (status == TSR_OK)
        status = compare(in_a, n, in_b, m, confidence, out);
    free(in_a);
    free(in_b);
    return status;
}
