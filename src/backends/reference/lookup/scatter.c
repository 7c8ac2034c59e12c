/* backends/reference/lookup/scatter.c - the op scatter, the gradient of gather. */
#include "backends/reference/lookup/rows.h"

tsr_status tsri_reference_scatter(const tsri_reference_call *call) {
    const tsri_reference_view index = tsri_reference_in(call, 1), dy = tsri_reference_in(call, 2),
                              dx = tsri_reference_out(call, 0);
    for (int64_t r = 0; r < dx.dim[0]; r++)
        tsri_reference_add_row(&dx, r, &index, &dy, 0, 1, true);
    return TSR_OK;
}
