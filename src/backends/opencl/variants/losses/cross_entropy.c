/* backends/opencl/variants/losses/cross_entropy.c - the variants of cross_entropy. */
#include "backends/opencl/variants/losses/loss.h"
#include "backends/opencl/variants/shared/group.h"

TSRI_OPERANDS(cross_entropy);

static bool fits_group(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    return tsri_opencl_loss_fits(variant, facts, op, why) &&
           tsri_opencl_fits_group_row(variant, facts, why);
}

static void define_entropy_group(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_defines *defines) {
    tsri_opencl_loss_define_entropy(variant, op, defines);
    tsri_opencl_define_group_row(variant, defines);
}

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
    const tsr_tensor *logits = op->in[LOGITS];
    const tsr_cross_entropy_attrs *attrs = op->attrs;
    tsri_opencl_loss_operands(op, launch);
    tsri_opencl_arg_float(launch, "smoothing", attrs->label_smoothing);
    tsri_opencl_group_row(launch, tsri_tensor_rows(logits), tsri_tensor_columns(logits));
}

static void bind_cross_entropy_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                     tsri_opencl_launch *launch) {
    bind_cross_entropy(variant, op, launch);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(2 * tsri_tensor_columns(op->in[LOGITS]).factor));
}

const tsri_opencl_variant tsri_opencl_variants_cross_entropy[] = {
    TSRI_OPENCL_GROUP_VARIANTS(TSR_OP_CROSS_ENTROPY, "cross_entropy/group.cl", fits_group,
                               define_entropy_group, bind_cross_entropy_group),
    {TSRI_OPENCL_LANES(TSR_OP_CROSS_ENTROPY, "cross_entropy", 50, tsri_opencl_loss_fits_lanes,
                       tsri_opencl_loss_define_entropy, bind_cross_entropy_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_CROSS_ENTROPY, "cross_entropy", tsri_opencl_loss_fits,
                       tsri_opencl_loss_define_entropy, bind_cross_entropy),
     .weight_operand = -1},
    {.name = NULL},
};
