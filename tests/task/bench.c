/* What the benchmark says about doubtful shares of the roofline. */
#include "task/bench/bench.h"

#include <criterion/criterion.h>
#include <string.h>

Test(bench, doubtful_shares_are_told) {
    const tsri_run_peaks best = {.fma_f32 = 100, .read = 20}, slow = {.fma_f32 = 54, .read = 20},
                          busy = {.fma_f32 = 98, .read = 12}, near = {.fma_f32 = 95, .read = 19};
    char why[256];
    cr_expect(!tsri_task_bench_doubt(&best, &best, &near, 0.86, why, sizeof why), "%s", why);
    cr_expect_str_empty(why);
    cr_expect(!tsri_task_bench_doubt(&best, &near, &best, 1.0, why, sizeof why), "%s", why);
    cr_expect(tsri_task_bench_doubt(&best, &slow, &best, 0.46, why, sizeof why));
    cr_expect_not_null(strstr(why, "up to 46 % lower"), "%s", why);
    cr_expect(tsri_task_bench_doubt(&best, &best, &busy, 0.5, why, sizeof why));
    cr_expect_not_null(strstr(why, "up to 40 % lower"), "%s", why);
    cr_expect(tsri_task_bench_doubt(&best, &best, &best, 1.2, why, sizeof why));
    cr_expect_not_null(strstr(why, "above 100 %"), "%s", why);
    cr_expect(tsri_task_bench_doubt(&best, &slow, &slow, 1.2, why, sizeof why));
    cr_expect(strstr(why, "46 % lower") && strstr(why, "above 100 %"), "%s", why);
    const tsri_run_peaks none = {0};
    cr_expect(!tsri_task_bench_doubt(&none, &none, &none, 0, why, sizeof why), "%s", why);
}

Test(bench, the_best_of_each_peak_counts) {
    tsri_run_peaks best = {.fma_f32 = 100, .fma_f16 = 1, .dot_int8 = 5, .read = 20};
    const tsri_run_peaks other = {.fma_f32 = 90, .fma_f16 = 2, .dot_int8 = 4, .read = 21};
    tsri_task_bench_best(&best, &other);
    cr_expect(best.fma_f32 == 100 && best.fma_f16 == 2 && best.dot_int8 == 5 && best.read == 21);
}
