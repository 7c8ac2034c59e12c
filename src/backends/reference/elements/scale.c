/* backends/reference/elements/scale.c - the op scale. */
#include "backends/reference/reference.h"

tsr_status tsri_reference_scale(const tsri_reference_call *call) {
    tsr_scale_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), y = tsri_reference_out(call, 0);
    for (int64_t i = 0, n = tsri_reference_count(&y); i < n; i++)
        tsri_reference_store(&y, tsri_reference_element_at(&y, i),
                             attrs.alpha *
                                 tsri_reference_load(&x, tsri_reference_element_at(&x, i)));
    return TSR_OK;
}
