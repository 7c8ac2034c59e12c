/* source  Su et al. 2021, arXiv:2104.09864 */
#include "backends/reference/reference.h"

#include <math.h>

tsr_status tsri_reference_rope(const tsri_reference_call *call) {
    tsr_rope_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0),
                              positions = tsri_reference_in(call, 1),
                              inv_freq = tsri_reference_in(call, 2),
                              y = tsri_reference_out(call, 0);
    const double magnitude = attrs.magnitude == 0 ? 1 : attrs.magnitude;
    const int64_t H = x.dim[2], D = x.dim[3], half = attrs.rotary / 2;
    for (int64_t r = 0, R = tsri_reference_rows(&x); r < R; r++) {
        const int64_t bt = r / H;
        const double position =
            (double)tsri_reference_load_int(&positions, tsri_reference_element_at(&positions, bt));
        const int64_t x_at = tsri_reference_row_at(&x, r), y_at = tsri_reference_row_at(&y, r);
        for (int64_t p = 0; p < half; p++) {
            const double angle = position * tsri_reference_load(&inv_freq, p * inv_freq.stride[0]);
            const double c = cos(angle), s = sin(angle);
            const int64_t i = attrs.interleaved ? 2 * p : p,
                          j = attrs.interleaved ? 2 * p + 1 : p + half;
            const double a = tsri_reference_load(&x, x_at + i * x.stride[3]);
            const double b = tsri_reference_load(&x, x_at + j * x.stride[3]);
            tsri_reference_store(&y, y_at + i * y.stride[3], (a * c - b * s) * magnitude);
            tsri_reference_store(&y, y_at + j * y.stride[3], (a * s + b * c) * magnitude);
        }
        for (int64_t d = 2 * half; d < D; d++)
            tsri_reference_store(&y, y_at + d * y.stride[3],
                                 tsri_reference_load(&x, x_at + d * x.stride[3]));
    }
    return TSR_OK;
}
