/* backends/reference/reduce/argmax.c - the op argmax, over the last dimension. */
#include "backends/reference/reduce/largest.h"
#include "tensor/draw.h"

#include <math.h>

tsr_status tsri_reference_argmax(const tsri_reference_call *call) {
    const tsri_reference_view x = tsri_reference_in(call, 0), y = tsri_reference_out(call, 0);
    for (int64_t r = 0, R = tsri_reference_rows(&x); r < R; r++) {
        const int64_t at = tsri_reference_row_at(&x, r),
                      best = tsri_reference_next_largest(&x, at, 0, -1);
        const float largest =
            best < 0 ? NAN : (float)tsri_reference_load(&x, at + best * tsri_reference_step(&x));
        tsri_reference_store_int(&y, tsri_reference_element_at(&y, r),
                                 isfinite(largest) ? best : tsri_tensor_not_finite(largest));
    }
    return TSR_OK;
}
