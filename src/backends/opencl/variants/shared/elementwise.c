/* backends/opencl/variants/shared/elementwise.c - what the variants of elementwise ops share. */
#include "backends/opencl/variants/shared/elementwise.h"

static bool same_shape(const tsr_tensor *a, const tsr_tensor *b) {
    bool same = a->rank == b->rank;
    for (uint32_t i = 0; same && i < a->rank; i++)
        same = tsri_tensor_same_dim(a->dim[i], b->dim[i]);
    return same;
}

bool tsri_opencl_is_flat(const tsr_tensor *a, const tsr_tensor *b) {
    return same_shape(a, b) && tsri_tensor_is_packed(a) && tsri_tensor_is_packed(b);
}

uint32_t tsri_opencl_activation_of(tsr_op_id id) {
    switch (id) {
    case TSR_OP_RELU:
        return TSR_ACT_RELU;
    case TSR_OP_GELU:
        return TSR_ACT_GELU;
    case TSR_OP_GELU_TANH:
        return TSR_ACT_GELU_TANH;
    case TSR_OP_SILU:
        return TSR_ACT_SILU;
    case TSR_OP_TANH:
        return TSR_ACT_TANH;
    case TSR_OP_SIGMOID:
        return TSR_ACT_SIGMOID;
    default:
        return TSR_ACT_NONE;
    }
}
