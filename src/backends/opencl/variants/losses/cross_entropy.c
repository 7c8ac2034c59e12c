/* backends/opencl/variants/losses/cross_entropy.c - the variants of cross_entropy. */
#include "backends/opencl/variants/losses/loss.h"

TSRI_OPERANDS(cross_entropy);

static void bind_cross_entropy(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_cross_entropy_attrs *attrs = op->attrs;
    tsri_opencl_loss_operands(op, launch);
    tsri_opencl_arg_float(launch, "smoothing", attrs->label_smoothing);
    tsri_opencl_loss_row_each(op, 16, launch);
}

static void bind_cross_entropy_group(const tsri_opencl_variant *variant, const tsr_op *op,
                                     tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_cross_entropy_attrs *attrs = op->attrs;
    tsri_opencl_loss_operands(op, launch);
    tsri_opencl_arg_float(launch, "smoothing", attrs->label_smoothing);
    tsri_opencl_loss_group_row(op, launch);
}

static void bind_cross_entropy_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                     tsri_opencl_launch *launch) {
    bind_cross_entropy(variant, op, launch);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(2 * tsri_tensor_columns(op->in[LOGITS]).factor));
}

const tsri_opencl_variant tsri_opencl_variants_cross_entropy[] = {
    TSRI_OPENCL_GROUP_VARIANTS(TSR_OP_CROSS_ENTROPY, "cross_entropy/group.cl",
                               tsri_opencl_loss_fits_group, tsri_opencl_loss_define_entropy,
                               bind_cross_entropy_group),
    {TSRI_OPENCL_LANES(TSR_OP_CROSS_ENTROPY, "cross_entropy", 50, tsri_opencl_loss_fits_lanes,
                       tsri_opencl_loss_define_entropy, bind_cross_entropy_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_CROSS_ENTROPY, "cross_entropy", tsri_opencl_loss_fits,
                       tsri_opencl_loss_define_entropy, bind_cross_entropy),
     .weight_operand = -1},
    {.name = NULL},
};
