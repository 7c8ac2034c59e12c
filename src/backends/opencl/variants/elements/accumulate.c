/* backends/opencl/variants/elements/accumulate.c - the variants of accumulate. */
#include "backends/opencl/variants/elements/plain.h"

static void define_accumulate(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_int(defines, "HAS_BETA", tsri_opencl_in(op, 2) != NULL);
    tsri_opencl_define_int(defines, "FLAT", tsri_opencl_is_flat(op->in[0], op->in[1]));
}

static void bind_accumulate(const tsri_opencl_variant *variant, const tsr_op *op,
                            tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *state = op->in[0];
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(state));
    if (!tsri_opencl_is_flat(state, op->in[1])) {
        tsri_opencl_arg_sizes(launch, state);
        tsri_opencl_arg_strides(launch, "x", op->in[1]);
    }
    tsri_opencl_element_each(launch, state);
}

const tsri_opencl_variant tsri_opencl_variants_accumulate[] = {
    TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_ACCUMULATE),
    {TSRI_OPENCL_PLAIN(TSR_OP_ACCUMULATE, "accumulate", tsri_opencl_fits_f32_elements,
                       define_accumulate, bind_accumulate),
     .weight_operand = -1},
    {.name = NULL},
};
