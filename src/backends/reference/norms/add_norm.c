/* backends/reference/norms/add_norm.c - the op add_norm: a sum, and the sum normed. */
#include "backends/reference/norms/norm.h"

/* The sum is normed as it was stored, because later ops read the stored one. */
tsr_status tsri_reference_add_norm(const tsri_reference_call *call) {
    tsr_norm_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), residual = tsri_reference_in(call, 1),
                              weight = tsri_reference_in(call, 2),
                              bias = tsri_reference_in(call, 3), sum = tsri_reference_out(call, 0),
                              y = tsri_reference_out(call, 1);
    for (int64_t r = 0, R = tsri_reference_rows(&sum); r < R; r++) {
        const int64_t x_at = tsri_reference_row_at(&x, r),
                      residual_at = tsri_reference_row_at(&residual, r),
                      sum_at = tsri_reference_row_at(&sum, r);
        for (int64_t c = 0, C = tsri_reference_columns(&sum); c < C; c++)
            tsri_reference_store(&sum, sum_at + c * tsri_reference_step(&sum),
                                 tsri_reference_norm_element(&x, x_at, c) +
                                     tsri_reference_norm_element(&residual, residual_at, c));
        tsri_reference_normalise(&sum, sum_at, attrs.norm, attrs.eps, &weight, &bias, &y,
                                 tsri_reference_row_at(&y, r));
    }
    return TSR_OK;
}
