/* backends/opencl/variants/elements/activation_grad.c - the variants of activation_grad. */
#include "backends/opencl/variants/elements/plain.h"

static bool is_flat_grad(const tsr_op *op) {
    return tsri_opencl_is_flat(op->in[0], op->out[0]) && tsri_opencl_is_flat(op->in[1], op->out[0]);
}

static void define_activation_grad(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_activation_attrs *attrs = op->attrs;
    tsri_opencl_define_int(defines, "ACT", (int)attrs->activation);
    tsri_opencl_define_int(defines, "FLAT", is_flat_grad(op));
}

static void bind_activation_grad(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *dx = op->out[0];
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(dx));
    if (!is_flat_grad(op)) {
        tsri_opencl_arg_sizes(launch, dx);
        tsri_opencl_arg_strides(launch, "x", op->in[0]);
        tsri_opencl_arg_strides(launch, "dy", op->in[1]);
        tsri_opencl_arg_strides(launch, "dx", dx);
    }
    tsri_opencl_element_each(launch, dx);
}

const tsri_opencl_variant tsri_opencl_variants_activation_grad[] = {
    TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_ACTIVATION_GRAD),
    {TSRI_OPENCL_PLAIN(TSR_OP_ACTIVATION_GRAD, "activation_grad", tsri_opencl_fits_f32_elements,
                       define_activation_grad, bind_activation_grad),
     .weight_operand = -1},
    {.name = NULL},
};
