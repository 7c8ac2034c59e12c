/* backends/opencl/variants/optimizers/sumsq.c - the variants of sumsq. */
#include "backends/opencl/variants/optimizers/states.h"

static void bind_sumsq(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_sumsq_attrs *attrs = op->attrs;
    const int64_t run = tsri_opencl_highest(op, tsri_tensor_count(op->in[1])) / attrs->parts + 1;
    tsri_opencl_state_operands(op, op->in[1], launch);
    tsri_opencl_arg_int(launch, "first", attrs->first);
    tsri_opencl_arg_int(launch, "parts", attrs->parts);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(attrs->parts), 1);
    tsri_opencl_work(launch, tsri_tensor_const(run));
}

static void bind_sumsq_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    bind_sumsq(variant, op, launch);
    tsri_opencl_group(launch, 1, 1, 1);
}

const tsri_opencl_variant tsri_opencl_variants_sumsq[] = {
    {TSRI_OPENCL_LANES(TSR_OP_SUMSQ, "sumsq", 50, tsri_opencl_state_fits_lanes, NULL,
                       bind_sumsq_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_SUMSQ, "sumsq", tsri_opencl_state_fits, NULL, bind_sumsq),
     .weight_operand = -1},
    {.name = NULL},
};
