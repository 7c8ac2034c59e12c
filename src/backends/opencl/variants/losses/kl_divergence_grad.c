/* backends/opencl/variants/losses/kl_divergence_grad.c - the variants of kl_divergence_grad. */
#include "backends/opencl/variants/losses/loss.h"

static void bind_kl_divergence_grad(const tsri_opencl_variant *variant, const tsr_op *op,
                                    tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_loss_operands(op, launch);
    tsri_opencl_arg_float(launch, "temperature", tsri_opencl_loss_temperature(op));
    tsri_opencl_loss_row_each(op, 48, launch);
}

static void bind_kl_divergence_grad_group(const tsri_opencl_variant *variant, const tsr_op *op,
                                          tsri_opencl_launch *launch) {
    bind_kl_divergence_grad(variant, op, launch);
    tsri_opencl_loss_group_row(op, launch);
}

static void bind_kl_divergence_grad_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                          tsri_opencl_launch *launch) {
    bind_kl_divergence_grad(variant, op, launch);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_loss_row_each(op, 4, launch);
}

const tsri_opencl_variant tsri_opencl_variants_kl_divergence_grad[] = {
    TSRI_OPENCL_GROUP_VARIANTS(TSR_OP_KL_DIVERGENCE_GRAD, "kl_divergence_grad/group.cl",
                               tsri_opencl_loss_fits_group, tsri_opencl_loss_define_divergence,
                               bind_kl_divergence_grad_group),
    {TSRI_OPENCL_LANES(TSR_OP_KL_DIVERGENCE_GRAD, "kl_divergence_grad", 50,
                       tsri_opencl_loss_fits_lanes, tsri_opencl_loss_define_divergence,
                       bind_kl_divergence_grad_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_KL_DIVERGENCE_GRAD, "kl_divergence_grad", tsri_opencl_loss_fits,
                       tsri_opencl_loss_define_divergence, bind_kl_divergence_grad),
     .weight_operand = -1},
    {.name = NULL},
};
