/* Which ops the backend offers, and their rows. */
#include "backends/opencl/rows/common.h"

const tsri_opencl_row *tsri_opencl_rows_of(tsr_op_id op) {
    static const tsri_opencl_row *const tables[TSR_OP_COUNT] = {
        [TSR_OP_MATMUL] = tsri_opencl_rows_matmul,
        [TSR_OP_LINEAR] = tsri_opencl_rows_linear,
        [TSR_OP_GLU_LINEAR] = tsri_opencl_rows_glu_linear,
        [TSR_OP_ATTENTION] = tsri_opencl_rows_attention,
        [TSR_OP_ADD_NORM] = tsri_opencl_rows_add_norm,
        [TSR_OP_LAYER_NORM] = tsri_opencl_rows_layer_norm,
        [TSR_OP_RMS_NORM] = tsri_opencl_rows_rms_norm,
        [TSR_OP_SOFTMAX] = tsri_opencl_rows_softmax,
        [TSR_OP_ROPE] = tsri_opencl_rows_rope,
        [TSR_OP_EMBED] = tsri_opencl_rows_embed,
        [TSR_OP_KV_APPEND] = tsri_opencl_rows_kv_append,
        [TSR_OP_ADD] = tsri_opencl_rows_add,
        [TSR_OP_MUL] = tsri_opencl_rows_mul,
        [TSR_OP_SCALE] = tsri_opencl_rows_scale,
        [TSR_OP_CAST] = tsri_opencl_rows_cast,
        [TSR_OP_COPY] = tsri_opencl_rows_copy,
        [TSR_OP_GATHER] = tsri_opencl_rows_gather,
        [TSR_OP_RELU] = tsri_opencl_rows_relu,
        [TSR_OP_GELU] = tsri_opencl_rows_gelu,
        [TSR_OP_GELU_TANH] = tsri_opencl_rows_gelu_tanh,
        [TSR_OP_SILU] = tsri_opencl_rows_silu,
        [TSR_OP_TANH] = tsri_opencl_rows_tanh,
        [TSR_OP_SIGMOID] = tsri_opencl_rows_sigmoid,
        [TSR_OP_ARGMAX] = tsri_opencl_rows_argmax,
        [TSR_OP_TOPK] = tsri_opencl_rows_topk,
    };
    return op > TSR_OP_NONE && op < TSR_OP_COUNT ? tables[op] : NULL;
}
