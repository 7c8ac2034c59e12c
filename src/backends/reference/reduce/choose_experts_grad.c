/* backends/reference/reduce/choose_experts_grad.c - the op choose_experts_grad. */
#include "backends/reference/reference.h"

#include "base/error.h"

static double at(const tsri_reference_view *x, int64_t row, int64_t column) {
    return tsri_reference_load(x, row * x->stride[0] + column * x->stride[1]);
}

tsr_status tsri_reference_choose_experts_grad(const tsri_reference_call *call) {
    const tsri_reference_view scores = tsri_reference_in(call, 0),
                              experts = tsri_reference_in(call, 1),
                              factors = tsri_reference_in(call, 2),
                              dfactors = tsri_reference_in(call, 3),
                              dscores = tsri_reference_out(call, 0);
    const int64_t E = scores.dim[1], k = experts.dim[1];
    for (int64_t r = 0; r < scores.dim[0]; r++) {
        double sum = 0, common = 0;
        for (int64_t e = 0; e < E; e++)
            tsri_reference_store(&dscores, r * dscores.stride[0] + e * dscores.stride[1], 0);
        for (int64_t i = 0; i < k; i++) {
            const int64_t e =
                tsri_reference_load_int(&experts, r * experts.stride[0] + i * experts.stride[1]);
            TRY(tsri_reference_check_index(call->op, "index", e, E));
            sum += at(&scores, r, e);
            common += at(&dfactors, r, i) * at(&factors, r, i);
        }
        for (int64_t i = 0; i < k; i++) {
            const int64_t e =
                tsri_reference_load_int(&experts, r * experts.stride[0] + i * experts.stride[1]);
            tsri_reference_store(&dscores, r * dscores.stride[0] + e * dscores.stride[1],
                                 (at(&dfactors, r, i) - common) / (sum + 1e-20));
        }
    }
    return TSR_OK;
}
