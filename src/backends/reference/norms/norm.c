/* backends/reference/norms/norm.c - layer_norm, rms_norm, add_norm.
 *
 * source  Ba et al. 2016, arXiv:1607.06450; Zhang, Sennrich 2019, arXiv:1910.07467 */
#include "backends/reference/reference.h"

#include <math.h>

static double element(const tsri_reference_view *x, int64_t at, int64_t c) {
    return tsri_reference_load(x, at + c * tsri_reference_step(x));
}

static void normalise(const tsri_reference_view *x, int64_t x_at, uint32_t norm, double eps,
                      const tsri_reference_view *weight, const tsri_reference_view *bias,
                      const tsri_reference_view *y, int64_t y_at) {
    const int64_t C = tsri_reference_columns(x);
    double mean = 0, squares = 0;
    if (norm == TSR_NORM_LAYER) {
        for (int64_t c = 0; c < C; c++)
            mean += element(x, x_at, c);
        mean /= (double)C;
    }
    for (int64_t c = 0; c < C; c++) {
        const double d = element(x, x_at, c) - mean;
        squares += d * d;
    }
    const double deviation = sqrt(squares / (double)C + eps);
    for (int64_t c = 0; c < C; c++) {
        double value = (element(x, x_at, c) - mean) / deviation * element(weight, 0, c);
        if (bias->data)
            value += element(bias, 0, c);
        tsri_reference_store(y, y_at + c * tsri_reference_step(y), value);
    }
}

static tsr_status norm_rows(const tsri_reference_call *call, tsr_norm norm) {
    tsr_norm_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), weight = tsri_reference_in(call, 1),
                              bias = tsri_reference_in(call, 2), y = tsri_reference_out(call, 0);
    for (int64_t r = 0, R = tsri_reference_rows(&y); r < R; r++)
        normalise(&x, tsri_reference_row_at(&x, r), norm, attrs.eps, &weight, &bias, &y,
                  tsri_reference_row_at(&y, r));
    return TSR_OK;
}

tsr_status tsri_reference_layer_norm(const tsri_reference_call *call) {
    return norm_rows(call, TSR_NORM_LAYER);
}

tsr_status tsri_reference_rms_norm(const tsri_reference_call *call) {
    return norm_rows(call, TSR_NORM_RMS);
}

/* The sum is normed as it was stored, because later ops read the stored one. */
tsr_status tsri_reference_add_norm(const tsri_reference_call *call) {
    tsr_norm_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view x = tsri_reference_in(call, 0), residual = tsri_reference_in(call, 1),
                              weight = tsri_reference_in(call, 2),
                              bias = tsri_reference_in(call, 3), sum = tsri_reference_out(call, 0),
                              y = tsri_reference_out(call, 1);
    for (int64_t r = 0, R = tsri_reference_rows(&sum); r < R; r++) {
        const int64_t x_at = tsri_reference_row_at(&x, r),
                      residual_at = tsri_reference_row_at(&residual, r),
                      sum_at = tsri_reference_row_at(&sum, r);
        for (int64_t c = 0, C = tsri_reference_columns(&sum); c < C; c++)
            tsri_reference_store(&sum, sum_at + c * tsri_reference_step(&sum),
                                 element(&x, x_at, c) + element(&residual, residual_at, c));
        normalise(&sum, sum_at, attrs.norm, attrs.eps, &weight, &bias, &y,
                  tsri_reference_row_at(&y, r));
    }
    return TSR_OK;
}
