/* backends/opencl/variants/optimizers/sgd.c - the variant of sgd. */
#include "backends/opencl/variants/optimizers/states.h"

static void define_sgd(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_sgd_attrs *attrs = op->attrs;
    tsri_opencl_define_int(defines, "HAS_VELOCITY", tsri_opencl_in(op, 1) != NULL);
    tsri_opencl_define_int(defines, "NESTEROV", attrs->nesterov != 0);
    tsri_opencl_define_int(defines, "HAS_ROUNDED", tsri_opencl_in(op, 4) != NULL);
}

static void bind_sgd(const tsri_opencl_variant *variant, const tsr_op *op,
                     tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_sgd_attrs *attrs = op->attrs;
    tsri_opencl_state_operands(op, op->in[0], launch);
    tsri_opencl_arg_float(launch, "momentum", attrs->momentum);
    tsri_opencl_arg_float(launch, "decay", attrs->decay);
    tsri_opencl_state_element_each(op, launch);
}

const tsri_opencl_variant tsri_opencl_variants_sgd[] = {
    {TSRI_OPENCL_PLAIN(TSR_OP_SGD, "sgd", tsri_opencl_state_fits, define_sgd, bind_sgd),
     .weight_operand = -1},
    {.name = NULL},
};
