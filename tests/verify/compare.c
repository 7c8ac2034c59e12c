/* tests/verify/compare.c - what verify calls a miss: an error above the case's bound, each kind of
 * bound by itself. */
#include "verify/verify.h"

#include <criterion/criterion.h>
#include <math.h>

/* Expects so many misses where `got` should be 2 and the other result is 8. */
static void expect(tsri_case_bound bound, float got, size_t misses, double largest_error) {
    float want[] = {2, 8}, terms[] = {4, 16}, given[] = {got, 8};
    tsri_case c = {.name = "by hand", .bound[0] = bound};
    tsri_case_values w = {.n_out = 1, .out_count = {2}, .out_dtype = {TSR_F32}}, t = w, g = w;
    tsri_verify_worst worst;
    w.out[0] = want, t.out[0] = terms, g.out[0] = given;
    cr_assert_eq(tsri_verify_compare(&c, &w, &t, &g, &worst), TSR_OK);
    cr_expect_eq(worst.misses, misses, "%g in place of 2: %zu misses", (double)got, worst.misses);
    cr_expect(misses ? worst.error > worst.bound && worst.element == 0
                     : worst.error <= worst.bound);
    cr_expect(!misses || worst.bound == largest_error, "the bound is %g", worst.bound);
}

Test(compare, an_error_above_the_bound_is_a_miss_and_one_at_the_bound_is_not) {
    static const struct {
        tsri_case_bound bound; /* 0.5 for the first result */
    } rows[] = {
        {{.absolute = 0.5}}, {{.relative = 0.25}}, {{.terms = 0.125}}, {{.largest = 0.0625}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            expect(rows[i].bound, 2 + (float)sign * 0.5f, 0, 0.5);
            expect(rows[i].bound, 2 + (float)sign * 0.5078125f, 1, 0.5);
        }
}

Test(compare, without_a_bound_the_results_must_be_equal) {
    const tsri_case_bound exact = {0};
    expect(exact, 2, 0, 0);
    expect(exact, nextafterf(2, 3), 1, 0);
    expect(exact, NAN, 1, 0);
    expect((tsri_case_bound){.absolute = 0.5}, INFINITY, 1, 0.5);
}
