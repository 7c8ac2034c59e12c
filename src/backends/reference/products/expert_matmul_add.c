/* backends/reference/products/expert_matmul_add.c - the op expert_matmul_add. */
#include "backends/reference/reference.h"

#include "base/error.h"

/* The place of the row that pair (r,j) reads. */
static int64_t row_of(const tsri_reference_view *x, int64_t r, int64_t j) {
    return r * x->stride[0] + (x->dim[1] == 1 ? 0 : j * x->stride[1]);
}

tsr_status tsri_reference_expert_matmul_add(const tsri_reference_call *call) {
    const tsri_reference_view state = tsri_reference_in(call, 0), a = tsri_reference_in(call, 1),
                              b = tsri_reference_in(call, 2), experts = tsri_reference_in(call, 3),
                              beta = tsri_reference_in(call, 4);
    const int64_t J = experts.dim[1], pairs = experts.dim[0] * J;
    const double factor = beta.data ? tsri_reference_load(&beta, 0) : 1;
    for (int64_t p = 0; p < pairs; p++)
        TRY(tsri_reference_check_index(
            call->op, "expert",
            tsri_reference_load_int(&experts, tsri_reference_element_at(&experts, p)),
            state.dim[0]));
    for (int64_t i = 0; i < tsri_reference_count(&state); i++) {
        const int64_t at = tsri_reference_element_at(&state, i), n = i % state.dim[2],
                      m = i / state.dim[2] % state.dim[1], e = i / state.dim[2] / state.dim[1];
        double sum = 0;
        for (int64_t p = 0; p < pairs; p++)
            if (tsri_reference_load_int(&experts, tsri_reference_element_at(&experts, p)) == e)
                sum += tsri_reference_load(&a, row_of(&a, p / J, p % J) + m * a.stride[2]) *
                       tsri_reference_load(&b, row_of(&b, p / J, p % J) + n * b.stride[2]);
        const double before = factor == 0 ? 0 : factor * tsri_reference_load(&state, at);
        tsri_reference_store(&state, at, before + sum);
    }
    return TSR_OK;
}
