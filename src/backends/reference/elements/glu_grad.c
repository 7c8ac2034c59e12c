/* backends/reference/elements/glu_grad.c - the gradient of glu. */
#include "backends/reference/reference.h"

#include <math.h>

/* The derivatives of tsri_reference_gated. */
static void slopes(const tsr_activation_attrs *form, double gate, double up, double *dgate,
                   double *dup) {
    const double alpha = form->alpha != 0 ? form->alpha : 1, L = form->limit;
    const bool high = L > 0 && gate > L, far = L > 0 && fabs(up) > L;
    const double z = alpha * (high ? L : gate);
    *dgate = high ? 0
                  : ((far ? copysign(L, up) : up) + form->shift) *
                        tsri_reference_slope(form->activation, z);
    *dup = far ? 0 : tsri_reference_activate(form->activation, z) / alpha;
}

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
            double dgate, dup;
            slopes(&attrs, gate, up, &dgate, &dup);
            tsri_reference_store(&dx, tsri_reference_element_at(&dx, r * 2 * F + f), d * dgate);
            tsri_reference_store(&dx, tsri_reference_element_at(&dx, r * 2 * F + F + f), d * dup);
        }
    return TSR_OK;
}
