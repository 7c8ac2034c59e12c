/* The statistics of tessera bench compare, by values that can be counted by hand. */
#include "task/results/statistics.h"

#include <criterion/criterion.h>
#include <math.h>

static tsri_results_shift compare(const double *a, size_t n, const double *b, size_t m,
                                  double confidence) {
    tsri_results_shift s = {0};
    cr_assert_eq(tsri_results_compare_values(a, n, b, m, confidence, &s), TSR_OK);
    return s;
}

static void near(double got, double wanted) {
    cr_assert(fabs(got - wanted) <= 1e-12 * fabs(wanted), "wanted %.17g, got %.17g", wanted, got);
}

/* All values of b above all of a: 1 of (n+m over n) orders, and as many the other way round. */
Test(results, ranks_are_counted_exactly) {
    double a[8], b[8];
    for (int i = 0; i < 8; i++) {
        a[i] = 100 + i;
        b[i] = 200 + i;
    }
    near(compare(a, 3, b, 3, 0.95).p, 2.0 / 20);
    near(compare(a, 5, b, 5, 0.95).p, 2.0 / 252);
    near(compare(a, 8, b, 8, 0.95).p, 2.0 / 12870);
    near(compare(b, 8, a, 8, 0.95).p, 2.0 / 12870);
    /* one exchange of neighbours: U is 1, which 1 + 1 orders reach */
    const double c[] = {1, 2, 3, 5}, d[] = {4, 6, 7, 8};
    near(compare(c, 4, d, 4, 0.95).p, 2 * 2.0 / 70);
}

Test(results, intervals_are_those_of_the_ranks) {
    const double a[] = {10, 20, 40, 80}, b[] = {10.5, 21, 42, 84};
    /* 4 and 4: only U = 0 has a probability (1/70) of at most 0.025: the extremes are the ends */
    const tsri_results_shift s = compare(a, 4, b, 4, 0.95);
    near(s.low, 10.5 / 80);
    near(s.high, 84.0 / 10);
    near(s.ratio, 1.05);
    /* 3 and 3: nothing can be shown at 95 % (1/20), but at 90 % */
    const tsri_results_shift none = compare(a, 3, b, 3, 0.95), some = compare(a, 3, b, 3, 0.9);
    cr_assert(none.low == 0 && isinf(none.high));
    near(some.low, 10.5 / 40);
    near(some.high, 42.0 / 10);
}

/* The order in which values are given, and their unit, change nothing. */
Test(results, order_and_unit_do_not_matter) {
    const double a[] = {3, 1, 2, 5, 4}, b[] = {2.5, 6, 3.5, 4.5, 5.5}, c[] = {1, 2, 3, 4, 5},
                 d[] = {250, 350, 450, 550, 600};
    const tsri_results_shift s = compare(a, 5, b, 5, 0.95), t = compare(c, 5, d, 5, 0.95);
    near(t.ratio / 100, s.ratio);
    near(t.low / 100, s.low);
    near(t.high / 100, s.high);
}

/* Ties, and more than 30 values, are judged by the normal distribution. */
Test(results, equal_values_show_nothing) {
    double a[200], b[200];
    for (int i = 0; i < 200; i++) {
        a[i] = 1 + (i * 37 % 101) * 1e-3;
        b[i] = 1.2 * a[i];
    }
    const tsri_results_shift same = compare(a, 200, a, 200, 0.95),
                             other = compare(a, 200, b, 200, 0.95);
    near(same.ratio, 1);
    cr_assert(same.p > 0.9 && same.low <= 1 && same.high >= 1);
    cr_assert(other.p < 1e-9 && other.low > 1.15 && other.high < 1.25 &&
              fabs(other.ratio - 1.2) < 0.01);
    const double ones[] = {1, 1, 1, 1, 1};
    const tsri_results_shift constant = compare(ones, 5, ones, 5, 0.95);
    cr_assert(constant.p == 1 && constant.ratio == 1);
}

Test(results, portability_is_the_harmonic_mean) {
    const double shares[] = {0.5, 0.25}, none[] = {0.9, 0};
    near(tsri_results_harmonic(shares, 2), 2 / (2.0 + 4.0));
    near(tsri_results_harmonic(none, 2), 0);
    near(tsri_results_harmonic(none, 0), 0); /* of no device */
}
