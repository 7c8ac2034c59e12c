/* backends/reference/attention/rope.c - rope: rotary positions.
 *
 * source  Su et al. 2021, arXiv:2104.09864 */
#include "backends/reference/reference.h"

#include <math.h>

void tsri_reference_rotate(const tsr_rope_attrs *attrs, const tsri_reference_view *inv_freq,
                           int64_t position, const tsri_reference_view *x, int64_t x_at,
                           const tsri_reference_view *y, int64_t y_at) {
    const double magnitude = attrs->magnitude == 0 ? 1 : attrs->magnitude;
    const int64_t half = attrs->rotary / 2, x_step = tsri_reference_step(x),
                  y_step = tsri_reference_step(y);
    for (int64_t p = 0; p < half; p++) {
        const double angle =
            (double)position * tsri_reference_load(inv_freq, p * inv_freq->stride[0]);
        const double c = cos(angle), s = attrs->inverse ? -sin(angle) : sin(angle);
        const int64_t i = attrs->interleaved ? 2 * p : p,
                      j = attrs->interleaved ? 2 * p + 1 : p + half;
        const double a = tsri_reference_load(x, x_at + i * x_step);
        const double b = tsri_reference_load(x, x_at + j * x_step);
        tsri_reference_store(y, y_at + i * y_step, (a * c - b * s) * magnitude);
        tsri_reference_store(y, y_at + j * y_step, (a * s + b * c) * magnitude);
    }
    for (int64_t d = 2 * half; d < tsri_reference_columns(x); d++)
        tsri_reference_store(y, y_at + d * y_step, tsri_reference_load(x, x_at + d * x_step));
}

tsr_status tsri_reference_rope(const tsri_reference_call *call) {
    tsr_rope_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0),
                              positions = tsri_reference_in(call, 1),
                              inv_freq = tsri_reference_in(call, 2),
                              y = tsri_reference_out(call, 0);
    for (int64_t r = 0, R = tsri_reference_rows(&x); r < R; r++) {
        const int64_t position = tsri_reference_load_int(
            &positions, tsri_reference_element_at(&positions, r / x.dim[2]));
        tsri_reference_rotate(&attrs, &inv_freq, position, &x, tsri_reference_row_at(&x, r), &y,
                              tsri_reference_row_at(&y, r));
    }
    return TSR_OK;
}
