/* backends/reference/reduce/topk.c - argmax and topk over the last dimension. */
#include "backends/reference/reference.h"

#include <math.h>

/* A total order: larger values first, equal ones by index; NaN counts as smallest. */
static bool before(double a, int64_t i, double b, int64_t j) {
    if (isnan(a) || isnan(b))
        return isnan(a) == isnan(b) ? i < j : isnan(b);
    return a != b ? a > b : i < j;
}

/* The first element in that order among those behind (value, index); for index -1, among all. */
static int64_t next(const tsri_reference_view *x, int64_t at, double value, int64_t index) {
    const int64_t V = tsri_reference_columns(x), step = tsri_reference_step(x);
    int64_t best = -1;
    double best_value = 0;
    for (int64_t v = 0; v < V; v++) {
        const double here = tsri_reference_load(x, at + v * step);
        if (index >= 0 && !before(value, index, here, v))
            continue;
        if (best < 0 || before(here, v, best_value, best)) {
            best = v;
            best_value = here;
        }
    }
    return best;
}

tsr_status tsri_reference_argmax(const tsri_reference_call *call) {
    const tsri_reference_view x = tsri_reference_in(call, 0), y = tsri_reference_out(call, 0);
    for (int64_t r = 0, R = tsri_reference_rows(&x); r < R; r++)
        tsri_reference_store_int(&y, tsri_reference_element_at(&y, r),
                                 next(&x, tsri_reference_row_at(&x, r), 0, -1));
    return TSR_OK;
}

tsr_status tsri_reference_topk(const tsri_reference_call *call) {
    const tsri_reference_view x = tsri_reference_in(call, 0), values = tsri_reference_out(call, 0),
                              indices = tsri_reference_out(call, 1),
                              lse = tsri_reference_out(call, 2);
    const int64_t k = tsri_reference_columns(&values), V = tsri_reference_columns(&x),
                  step = tsri_reference_step(&x);
    for (int64_t r = 0, R = tsri_reference_rows(&x); r < R; r++) {
        const int64_t at = tsri_reference_row_at(&x, r);
        int64_t index = -1;
        double value = 0, top = 0, sum = 0;
        for (int64_t i = 0; i < k; i++) {
            index = next(&x, at, value, index);
            value = tsri_reference_load(&x, at + index * step);
            top = i == 0 ? value : top;
            tsri_reference_store(
                &values, tsri_reference_row_at(&values, r) + i * tsri_reference_step(&values),
                value);
            tsri_reference_store_int(
                &indices, tsri_reference_row_at(&indices, r) + i * tsri_reference_step(&indices),
                index);
        }
        for (int64_t v = 0; v < V; v++)
            sum += top > -INFINITY ? exp(tsri_reference_load(&x, at + v * step) - top) : 0;
        if (lse.data)
            tsri_reference_store(&lse, tsri_reference_element_at(&lse, r),
                                 sum > 0 ? top + log(sum) : -INFINITY);
    }
    return TSR_OK;
}
