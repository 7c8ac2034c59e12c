/* backends/reference/norms/norm_weight_grad.c - the gradients of a norm's weight and bias. */
#include "backends/reference/reference.h"

tsr_status tsri_reference_norm_weight_grad(const tsri_reference_call *call) {
    const tsri_reference_view x = tsri_reference_in(call, 0), dy = tsri_reference_in(call, 1),
                              stats = tsri_reference_in(call, 2),
                              dweight = tsri_reference_out(call, 0),
                              dbias = tsri_reference_out(call, 1);
    const int64_t R = tsri_reference_rows(&x), x_step = tsri_reference_step(&x),
                  dy_step = tsri_reference_step(&dy);
    for (int64_t c = 0, C = tsri_reference_columns(&x); c < C; c++) {
        double weight = 0, bias = 0;
        for (int64_t r = 0; r < R; r++) {
            const int64_t at = tsri_reference_row_at(&stats, r);
            const double mean = tsri_reference_load(&stats, at),
                         scale = tsri_reference_load(&stats, at + tsri_reference_step(&stats));
            const double g = tsri_reference_load(&dy, tsri_reference_row_at(&dy, r) + c * dy_step);
            weight += g *
                      (tsri_reference_load(&x, tsri_reference_row_at(&x, r) + c * x_step) - mean) *
                      scale;
            bias += g;
        }
        tsri_reference_store(&dweight, c * dweight.stride[0], weight);
        if (dbias.data)
            tsri_reference_store(&dbias, c * dbias.stride[0], bias);
    }
    return TSR_OK;
}
