/* backends/opencl/variants/optimizers/adamw.c - the variants of adamw. */
#include "backends/opencl/variants/optimizers/states.h"

static void define_adamw(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_int(defines, "HAS_ROUNDED", tsri_opencl_in(op, 5) != NULL);
}

static void bind_adamw_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_adamw_attrs *attrs = op->attrs;
    tsri_opencl_state_operands(op, op->in[0], launch);
    tsri_opencl_arg_float(launch, "beta1", attrs->beta1);
    tsri_opencl_arg_float(launch, "rest1", (float)(1 - (double)attrs->beta1));
    tsri_opencl_arg_float(launch, "beta2", attrs->beta2);
    tsri_opencl_arg_float(launch, "rest2", (float)(1 - (double)attrs->beta2));
    tsri_opencl_arg_float(launch, "eps", attrs->eps);
    tsri_opencl_arg_float(launch, "decay", attrs->decay);
}

static void bind_adamw(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind_adamw_operands(op, launch);
    tsri_opencl_state_element_each(op, launch);
}

static void bind_adamw_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    enum { SPAN = 2048 };
    (void)variant;
    bind_adamw_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_count(op->in[0]), SPAN);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(8 * SPAN));
}

const tsri_opencl_variant tsri_opencl_variants_adamw[] = {
    {TSRI_OPENCL_LANES(TSR_OP_ADAMW, "adamw", 50, tsri_opencl_state_fits_lanes, define_adamw,
                       bind_adamw_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_ADAMW, "adamw", tsri_opencl_state_fits, define_adamw, bind_adamw),
     .weight_operand = -1},
    {.name = NULL},
};
