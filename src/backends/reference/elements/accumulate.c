/* backends/reference/elements/accumulate.c - the op accumulate: a sum over several steps. */
#include "backends/reference/reference.h"

tsr_status tsri_reference_accumulate(const tsri_reference_call *call) {
    const tsri_reference_view state = tsri_reference_in(call, 0), x = tsri_reference_in(call, 1),
                              number = tsri_reference_in(call, 2);
    const double beta = number.data ? tsri_reference_load(&number, 0) : 1;
    for (int64_t i = 0, n = tsri_reference_count(&state); i < n; i++) {
        const int64_t at = tsri_reference_element_at(&state, i);
        const double old = beta != 0 ? beta * tsri_reference_load(&state, at) : 0;
        tsri_reference_store(&state, at,
                             old + tsri_reference_load(&x, tsri_reference_element_at(&x, i)));
    }
    return TSR_OK;
}
