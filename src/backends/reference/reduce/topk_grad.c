/* backends/reference/reduce/topk_grad.c - the op topk_grad. */
#include "backends/reference/reference.h"

#include "base/error.h"

tsr_status tsri_reference_topk_grad(const tsri_reference_call *call) {
    const tsri_reference_view indices = tsri_reference_in(call, 1),
                              dvalues = tsri_reference_in(call, 2),
                              dx = tsri_reference_out(call, 0);
    const int64_t k = indices.dim[1];
    for (int64_t r = 0; r < dx.dim[0]; r++) {
        for (int64_t v = 0; v < dx.dim[1]; v++)
            tsri_reference_store(&dx, r * dx.stride[0] + v * dx.stride[1], 0);
        for (int64_t i = 0; i < k; i++) {
            const int64_t v =
                tsri_reference_load_int(&indices, r * indices.stride[0] + i * indices.stride[1]);
            TRY(tsri_reference_check_index(call->op, "index", v, dx.dim[1]));
            tsri_reference_store(
                &dx, r * dx.stride[0] + v * dx.stride[1],
                tsri_reference_load(&dvalues, r * dvalues.stride[0] + i * dvalues.stride[1]));
        }
    }
    return TSR_OK;
}
