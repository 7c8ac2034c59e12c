/* linear and glu_linear.   source  Shazeer 2020, arXiv:2002.05202 (gated units) */
#include "backends/reference/reference.h"

static double bias_of(const tsri_reference_view *bias, int64_t n) {
    return bias->data ? tsri_reference_load(bias, n * bias->stride[0]) : 0;
}

/* <row of x, column n of w> + bias[n], where output n is row n of w (transposed) or column n of it.
 */
static double output(const tsri_reference_view *x, int64_t x_at, const tsri_reference_view *w,
                     bool transposed, const tsri_reference_view *bias, int64_t n) {
    return bias_of(bias, n) +
           tsri_reference_dot(x, x_at, tsri_reference_step(x), w, n * w->stride[transposed ? 0 : 1],
                              w->stride[transposed ? 1 : 0], tsri_reference_columns(x));
}

tsr_status tsri_reference_linear(const tsri_reference_call *call) {
    tsr_linear_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), w = tsri_reference_in(call, 1),
                              bias = tsri_reference_in(call, 2),
                              residual = tsri_reference_in(call, 3),
                              y = tsri_reference_out(call, 0);
    const int64_t R = tsri_reference_rows(&y), N = tsri_reference_columns(&y);
    for (int64_t r = 0; r < R; r++) {
        const int64_t x_at = tsri_reference_row_at(&x, r), y_at = tsri_reference_row_at(&y, r);
        const int64_t residual_at = residual.data ? tsri_reference_row_at(&residual, r) : 0;
        for (int64_t n = 0; n < N; n++) {
            double value = tsri_reference_activate(attrs.activation,
                                                   output(&x, x_at, &w, attrs.trans_w, &bias, n));
            if (residual.data)
                value += tsri_reference_load(&residual,
                                             residual_at + n * tsri_reference_step(&residual));
            tsri_reference_store(&y, y_at + n * tsri_reference_step(&y), value);
        }
    }
    return TSR_OK;
}

tsr_status tsri_reference_glu_linear(const tsri_reference_call *call) {
    tsr_glu_linear_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), w = tsri_reference_in(call, 1),
                              bias = tsri_reference_in(call, 2), y = tsri_reference_out(call, 0);
    const int64_t R = tsri_reference_rows(&y), F = tsri_reference_columns(&y);
    for (int64_t r = 0; r < R; r++) {
        const int64_t x_at = tsri_reference_row_at(&x, r), y_at = tsri_reference_row_at(&y, r);
        for (int64_t f = 0; f < F; f++) {
            const double gate = output(&x, x_at, &w, attrs.trans_w, &bias, f);
            const double up = output(&x, x_at, &w, attrs.trans_w, &bias, F + f);
            tsri_reference_store(&y, y_at + f * tsri_reference_step(&y),
                                 tsri_reference_activate(attrs.activation, gate) * up);
        }
    }
    return TSR_OK;
}
