/* Philox by its known answers, and the distributions that are drawn from it. */
#include "base/random.h"

#include <criterion/criterion.h>
#include <math.h>

/* The known answers of the Random123 library, philox4x32-10. */
Test(base, philox_known_answers) {
    const struct {
        uint64_t key, high, low;
        uint32_t out[4];
    } rows[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822,
         0x0370734413198a2e,
         0x85a308d3243f6a88,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t out[4];
        tsri_base_philox(rows[i].key, rows[i].high, rows[i].low, out);
        cr_assert_arr_eq(out, rows[i].out, sizeof out, "row %zu", i);
    }
}

Test(base, draws_have_the_moments_of_their_distribution) {
    enum { N = 100000 };
    double uniform = 0, mean = 0, square = 0;
    for (uint64_t i = 0; i < N; i++) {
        const double u = tsri_base_uniform(7, 1, i), x = tsri_base_normal(7, 2, i);
        cr_assert(u >= 0 && u < 1 && isfinite(x));
        uniform += u;
        mean += x;
        square += x * x;
    }
    /* Five standard errors of each mean. */
    cr_assert_float_eq(uniform / N, 0.5, 5 * sqrt(1.0 / 12 / N));
    cr_assert_float_eq(mean / N, 0, 5 * sqrt(1.0 / N));
    cr_assert_float_eq(square / N, 1, 5 * sqrt(2.0 / N));
}

Test(base, draws_depend_on_each_part_of_the_counter) {
    const double u = tsri_base_uniform(1, 2, 3);
    cr_assert_eq(u, tsri_base_uniform(1, 2, 3));
    cr_assert_neq(u, tsri_base_uniform(2, 2, 3));
    cr_assert_neq(u, tsri_base_uniform(1, 3, 3));
    cr_assert_neq(u, tsri_base_uniform(1, 2, 4));
}
