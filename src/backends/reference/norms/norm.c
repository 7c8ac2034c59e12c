/* backends/reference/norms/norm.c - what layer_norm, rms_norm and add_norm have in common. */
#include "backends/reference/norms/norm.h"

#include <math.h>

double tsri_reference_norm_element(const tsri_reference_view *x, int64_t at, int64_t c) {
    return tsri_reference_load(x, at + c * tsri_reference_step(x));
}

void tsri_reference_normalise(const tsri_reference_view *x, int64_t x_at, uint32_t norm, double eps,
                              const tsri_reference_view *weight, const tsri_reference_view *bias,
                              const tsri_reference_view *y, int64_t y_at) {
    const int64_t C = tsri_reference_columns(x);
    double mean = 0, squares = 0;
    if (norm == TSR_NORM_LAYER) {
        for (int64_t c = 0; c < C; c++)
            mean += tsri_reference_norm_element(x, x_at, c);
        mean /= (double)C;
    }
    for (int64_t c = 0; c < C; c++) {
        const double d = tsri_reference_norm_element(x, x_at, c) - mean;
        squares += d * d;
    }
    const double deviation = sqrt(squares / (double)C + eps);
    for (int64_t c = 0; c < C; c++) {
        double value = (tsri_reference_norm_element(x, x_at, c) - mean) / deviation *
                       tsri_reference_norm_element(weight, 0, c);
        if (bias->data)
            value += tsri_reference_norm_element(bias, 0, c);
        tsri_reference_store(y, y_at + c * tsri_reference_step(y), value);
    }
}

tsr_status tsri_reference_norm_rows(const tsri_reference_call *call, tsr_norm norm) {
    tsr_norm_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), weight = tsri_reference_in(call, 1),
                              bias = tsri_reference_in(call, 2), y = tsri_reference_out(call, 0);
    for (int64_t r = 0, R = tsri_reference_rows(&y); r < R; r++)
        tsri_reference_normalise(&x, tsri_reference_row_at(&x, r), norm, attrs.eps, &weight, &bias,
                                 &y, tsri_reference_row_at(&y, r));
    return TSR_OK;
}
