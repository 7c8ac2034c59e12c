/* backends/reference/reduce/argmax.c - the op argmax, over the last dimension. */
#include "backends/reference/reduce/largest.h"

tsr_status tsri_reference_argmax(const tsri_reference_call *call) {
    const tsri_reference_view x = tsri_reference_in(call, 0), y = tsri_reference_out(call, 0);
    for (int64_t r = 0, R = tsri_reference_rows(&x); r < R; r++)
        tsri_reference_store_int(
            &y, tsri_reference_element_at(&y, r),
            tsri_reference_next_largest(&x, tsri_reference_row_at(&x, r), 0, -1));
    return TSR_OK;
}
