/* backends/reference/reduce/topk.c - the op topk, over the last dimension. */
#include "backends/reference/reduce/largest.h"

#include <math.h>

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
            index = tsri_reference_next_largest(&x, at, value, index);
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
            sum += top != -INFINITY ? exp(tsri_reference_load(&x, at + v * step) - top) : 0;
        if (lse.data)
            tsri_reference_store(&lse, tsri_reference_element_at(&lse, r),
                                 top == -INFINITY ? top : top + log(sum));
    }
    return TSR_OK;
}
