/* backends/reference/elements/glu.c - the op glu: an activation gates the other half. */
#include "backends/reference/reference.h"

double tsri_reference_gated(const tsr_activation_attrs *form, double gate, double up) {
    const double alpha = form->alpha != 0 ? form->alpha : 1, L = form->limit;
    if (L > 0) { /* NaN stays NaN */
        gate = gate > L ? L : gate;
        up = up > L ? L : up < -L ? -L : up;
    }
    return tsri_reference_activate(form->activation, alpha * gate) / alpha * (up + form->shift);
}

tsr_status tsri_reference_glu(const tsri_reference_call *call) {
    tsr_activation_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), y = tsri_reference_out(call, 0);
    const int64_t F = tsri_reference_columns(&y), step = tsri_reference_step(&x);
    for (int64_t r = 0, R = tsri_reference_rows(&y); r < R; r++)
        for (int64_t f = 0; f < F; f++) {
            const int64_t at = tsri_reference_row_at(&x, r) + f * step;
            const double gate = tsri_reference_load(&x, at),
                         up = tsri_reference_load(&x, at + F * step);
            tsri_reference_store(&y, tsri_reference_element_at(&y, r * F + f),
                                 tsri_reference_gated(&attrs, gate, up));
        }
    return TSR_OK;
}
