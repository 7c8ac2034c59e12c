/* backends/reference/reduce/sum_rows.c - the op sum_rows. */
#include "backends/reference/reference.h"

tsr_status tsri_reference_sum_rows(const tsri_reference_call *call) {
    const tsri_reference_view x = tsri_reference_in(call, 0), y = tsri_reference_out(call, 0);
    const int64_t R = tsri_reference_rows(&x), step = tsri_reference_step(&x);
    for (int64_t c = 0, C = tsri_reference_columns(&x); c < C; c++) {
        double sum = 0;
        for (int64_t r = 0; r < R; r++)
            sum += tsri_reference_load(&x, tsri_reference_row_at(&x, r) + c * step);
        tsri_reference_store(&y, c * y.stride[0], sum);
    }
    return TSR_OK;
}
