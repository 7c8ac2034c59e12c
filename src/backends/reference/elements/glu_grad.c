/* backends/reference/elements/glu_grad.c - the gradient of glu. */
#include "backends/reference/reference.h"

tsr_status tsri_reference_glu_grad(const tsri_reference_call *call) {
    tsr_activation_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), dy = tsri_reference_in(call, 1),
                              dx = tsri_reference_out(call, 0);
    const int64_t F = tsri_reference_columns(&dy), step = tsri_reference_step(&x);
    for (int64_t r = 0, R = tsri_reference_rows(&dy); r < R; r++)
        for (int64_t f = 0; f < F; f++) { /* dx may be the same memory as x */
            const int64_t at = tsri_reference_row_at(&x, r) + f * step;
            const double gate = tsri_reference_load(&x, at),
                         up = tsri_reference_load(&x, at + F * step),
                         d = tsri_reference_load(&dy, tsri_reference_element_at(&dy, r * F + f));
            tsri_reference_store(&dx, tsri_reference_element_at(&dx, r * 2 * F + f),
                                 d * up * tsri_reference_slope(attrs.activation, gate));
            tsri_reference_store(&dx, tsri_reference_element_at(&dx, r * 2 * F + F + f),
                                 d * tsri_reference_activate(attrs.activation, gate));
        }
    return TSR_OK;
}
