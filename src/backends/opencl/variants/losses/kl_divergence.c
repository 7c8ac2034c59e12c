/* backends/opencl/variants/losses/kl_divergence.c - the variants of kl_divergence. */
#include "backends/opencl/variants/losses/loss.h"

static void bind_kl_divergence(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_loss_operands(op, launch);
    tsri_opencl_arg_float(launch, "temperature", tsri_opencl_loss_temperature(op));
    tsri_opencl_loss_row_each(op, 48, launch);
}

static void bind_kl_divergence_group(const tsri_opencl_variant *variant, const tsr_op *op,
                                     tsri_opencl_launch *launch) {
    bind_kl_divergence(variant, op, launch);
    tsri_opencl_loss_group_row(op, launch);
}

static void bind_kl_divergence_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                     tsri_opencl_launch *launch) {
    bind_kl_divergence(variant, op, launch);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_loss_row_each(op, 4, launch);
}

const tsri_opencl_variant tsri_opencl_variants_kl_divergence[] = {
    TSRI_OPENCL_GROUP_VARIANTS(TSR_OP_KL_DIVERGENCE, "kl_divergence/group.cl",
                               tsri_opencl_loss_fits_group, tsri_opencl_loss_define_divergence,
                               bind_kl_divergence_group),
    {TSRI_OPENCL_LANES(TSR_OP_KL_DIVERGENCE, "kl_divergence", 50, tsri_opencl_loss_fits_lanes,
                       tsri_opencl_loss_define_divergence, bind_kl_divergence_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_KL_DIVERGENCE, "kl_divergence", tsri_opencl_loss_fits,
                       tsri_opencl_loss_define_divergence, bind_kl_divergence),
     .weight_operand = -1},
    {.name = NULL},
};
