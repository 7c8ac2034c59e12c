/* Work in parts: each item once, at multiples of the unit, with the first failure told. */
#include "tensor/parallel.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MOST = 100 };

typedef struct work {
    int64_t unit, fails; /* the items from which parts fail; -1: none */
    int times[MOST], begins[MOST];
} work;

static tsr_status count(void *data, int64_t first, int64_t end) {
    work *w = data;
    w->begins[first]++;
    for (int64_t i = first; i < end; i++)
        w->times[i]++;
    if (w->fails >= 0 && end > w->fails)
        return tsri_base_fail(TSR_E_FORMAT, "the part from item %d", (int)first);
    return TSR_OK;
}

Test(parallel, each_item_once) {
    for (unsigned threads = 0; threads <= 20; threads++)
        for (int64_t unit = 1; unit <= 64; unit *= 4)
            for (int64_t n = 0; n < MOST; n += n < 20 ? 1 : 7) {
                work w = {.unit = unit, .fails = -1};
                int parts = 0;
                cr_assert_eq(tsri_tensor_parallel(threads, n, unit, count, &w), TSR_OK);
                for (int64_t i = 0; i < MOST; i++) {
                    cr_assert_eq(w.times[i], i < n, "%d threads, unit %d, item %d of %d",
                                 (int)threads, (int)unit, (int)i, (int)n);
                    cr_assert(!w.begins[i] || i % unit == 0);
                    parts += w.begins[i];
                }
                cr_assert_leq(parts, threads > 1 ? (int)threads : 1);
                cr_assert_leq(parts, TSRI_TENSOR_MOST_THREADS);
            }
}

Test(parallel, several_threads_are_used) {
    work w = {.unit = 1, .fails = -1};
    int parts = 0;
    cr_assert_eq(tsri_tensor_parallel(4, 10, 1, count, &w), TSR_OK);
    for (int i = 0; i < MOST; i++)
        parts += w.begins[i];
    cr_assert_eq(parts, 4);
}

/* The sentence is that of another thread, and of the lowest items. */
Test(parallel, the_first_failure_is_told) {
    work w = {.unit = 1, .fails = 30};
    cr_assert_eq(tsri_tensor_parallel(4, 80, 1, count, &w), TSR_E_FORMAT);
    cr_assert_str_eq(tsri_base_reported(), "the part from item 20");
    memset(&w, 0, sizeof w);
    w.fails = 0;
    cr_assert_eq(tsri_tensor_parallel(1, 80, 1, count, &w), TSR_E_FORMAT);
    cr_assert_str_eq(tsri_base_reported(), "the part from item 0");
}

Test(parallel, threads) {
    const unsigned cores = tsri_tensor_threads(0, UINT64_C(1) << 30);
    cr_assert_geq(cores, 1);
    cr_assert_leq(cores, TSRI_TENSOR_MOST_THREADS);
    cr_assert_eq(tsri_tensor_threads(0, (1 << 20) - 1), 1);
    cr_assert_eq(tsri_tensor_threads(0, 1 << 20), cores);
    cr_assert_eq(tsri_tensor_threads(1, 1 << 20), 1);
    cr_assert_eq(tsri_tensor_threads(1000, 1 << 20), cores);
}
