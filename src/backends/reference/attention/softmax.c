/* backends/reference/attention/softmax.c - softmax and its gradient. */
#include "backends/reference/reference.h"

#include <math.h>

/* The place of the element of bias that belongs to element (row r, column 0) of x; *step is its
 * step along the row. */
static int64_t bias_row_at(const tsri_reference_view *bias, const tsri_reference_view *x, int64_t r,
                           int64_t *step) {
    int64_t at = 0;
    for (uint32_t k = x->rank - 1; k-- > 0; r /= x->dim[k]) {
        const int64_t j = (int64_t)bias->rank - (int64_t)(x->rank - k);
        if (j >= 0 && bias->dim[j] != 1)
            at += r % x->dim[k] * bias->stride[j];
    }
    *step = bias->rank && bias->dim[bias->rank - 1] != 1 ? bias->stride[bias->rank - 1] : 0;
    return at;
}

double tsri_reference_exp(double score, double top) {
    return score == -INFINITY ? 0 : exp(score - top);
}

tsr_status tsri_reference_softmax(const tsri_reference_call *call) {
    tsr_softmax_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), past = tsri_reference_in(call, 1),
                              len = tsri_reference_in(call, 2), bias = tsri_reference_in(call, 3),
                              relative = tsri_reference_in(call, 4),
                              sinks = tsri_reference_in(call, 5), y = tsri_reference_out(call, 0);
    const double scale = attrs.scale == 0 ? 1 : attrs.scale;
    const int64_t S = tsri_reference_columns(&x), R = tsri_reference_rows(&x),
                  T = x.rank > 1 ? x.dim[x.rank - 2] : 1, H = x.rank > 2 ? x.dim[x.rank - 3] : 1;
    const int64_t x_step = tsri_reference_step(&x), y_step = tsri_reference_step(&y);
    for (int64_t r = 0; r < R; r++) {
        const int64_t x_at = tsri_reference_row_at(&x, r), y_at = tsri_reference_row_at(&y, r);
        const int64_t b = x.rank > 1 ? r / (R / x.dim[0]) : 0;
        int64_t first, end, bias_step = 0;
        const int64_t bias_at = bias.data ? bias_row_at(&bias, &x, r, &bias_step) : 0;
        tsri_reference_visible(&past, &len, attrs.causal, attrs.window, b, r % T, S, &first, &end);
#define SCORE(s)                                                             \
    (scale * tsri_reference_load(&x, x_at + (s)*x_step) +                    \
     (bias.data ? tsri_reference_load(&bias, bias_at + (s)*bias_step) : 0) + \
     tsri_reference_relative(&relative, &past, b, r % T, r / T % H, s))
        const double sink =
            sinks.data ? tsri_reference_load(&sinks, r / T % H * sinks.stride[0]) : -INFINITY;
        double top = sink, sum = 0;
        for (int64_t s = first; s < end; s++)
            top = fmax(top, SCORE(s));
        for (int64_t s = first; s < end; s++)
            sum += tsri_reference_exp(SCORE(s), top);
        sum += tsri_reference_exp(sink, top);
        for (int64_t s = 0; s < S;
             s++) { /* y may be the same memory as x: each score is read before it is written */
            const bool visible = s >= first && s < end && sum != 0;
            tsri_reference_store(&y, y_at + s * y_step, visible ? exp(SCORE(s) - top) / sum : 0);
        }
#undef SCORE
    }
    return TSR_OK;
}

tsr_status tsri_reference_softmax_grad(const tsri_reference_call *call) {
    tsr_scale_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view y = tsri_reference_in(call, 0), dy = tsri_reference_in(call, 1),
                              dx = tsri_reference_out(call, 0);
    const int64_t y_step = tsri_reference_step(&y), dy_step = tsri_reference_step(&dy),
                  dx_step = tsri_reference_step(&dx), S = tsri_reference_columns(&y);
    for (int64_t r = 0, R = tsri_reference_rows(&y); r < R; r++) {
        const int64_t y_at = tsri_reference_row_at(&y, r), dy_at = tsri_reference_row_at(&dy, r),
                      dx_at = tsri_reference_row_at(&dx, r);
        const double sum = tsri_reference_dot(&y, y_at, y_step, &dy, dy_at, dy_step, S);
        for (int64_t s = 0; s < S; s++)
            tsri_reference_store(&dx, dx_at + s * dx_step,
                                 attrs.alpha * tsri_reference_load(&y, y_at + s * y_step) *
                                     (tsri_reference_load(&dy, dy_at + s * dy_step) - sum));
    }
    return TSR_OK;
}
