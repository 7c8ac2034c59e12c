/* backends/reference/lookup/concat.c - concat: inputs side by side along the last dimension. */
#include "backends/reference/reference.h"

tsr_status tsri_reference_concat(const tsri_reference_call *call) {
    const tsri_reference_view y = tsri_reference_out(call, 0);
    int64_t first = 0;
    for (uint32_t i = 0; i < call->op->n_in; i++) {
        const tsri_reference_view x = tsri_reference_in(call, i);
        const int64_t C = tsri_reference_columns(&x);
        for (int64_t r = 0; r < tsri_reference_rows(&x); r++)
            for (int64_t c = 0; c < C; c++)
                tsri_reference_store(
                    &y, tsri_reference_row_at(&y, r) + (first + c) * tsri_reference_step(&y),
                    tsri_reference_load(&x, tsri_reference_row_at(&x, r) +
                                                c * tsri_reference_step(&x)));
        first += C;
    }
    return TSR_OK;
}
