/* backends/reference/elements/activation_grad.c - the gradient of an activation. */
#include "backends/reference/reference.h"

tsr_status tsri_reference_activation_grad(const tsri_reference_call *call) {
    tsr_activation_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), dy = tsri_reference_in(call, 1),
                              dx = tsri_reference_out(call, 0);
    for (int64_t i = 0, n = tsri_reference_count(&dx); i < n; i++) {
        const double at = tsri_reference_load(&x, tsri_reference_element_at(&x, i)),
                     d = tsri_reference_load(&dy, tsri_reference_element_at(&dy, i));
        tsri_reference_store(&dx, tsri_reference_element_at(&dx, i),
                             d * tsri_reference_slope(attrs.activation, at));
    }
    return TSR_OK;
}
