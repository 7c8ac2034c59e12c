/* backends/opencl/variants/losses/cross_entropy_grad.c - the variants of cross_entropy_grad. */
#include "backends/opencl/variants/losses/loss.h"

TSRI_OPERANDS(cross_entropy);

static void bind_cross_entropy_grad(const tsri_opencl_variant *variant, const tsr_op *op,
                                    tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_cross_entropy_attrs *attrs = op->attrs;
    tsri_opencl_loss_operands(op, launch);
    tsri_opencl_arg_float(launch, "smoothing", attrs->label_smoothing);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(op->in[LOGITS]), 1);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(op->in[LOGITS]), 1);
    tsri_opencl_work(launch, tsri_tensor_const(16));
}

static void bind_cross_entropy_grad_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                          tsri_opencl_launch *launch) {
    enum { SPAN = 8192 };
    (void)variant;
    const tsr_cross_entropy_attrs *attrs = op->attrs;
    const tsr_tensor *logits = op->in[LOGITS];
    const int64_t V = tsri_tensor_columns(logits).factor;
    tsri_opencl_loss_operands(op, launch);
    tsri_opencl_arg_float(launch, "smoothing", attrs->label_smoothing);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(V), SPAN);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(logits), 1);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(2 * (V < SPAN ? V : SPAN)));
}

const tsri_opencl_variant tsri_opencl_variants_cross_entropy_grad[] = {
    {TSRI_OPENCL_LANES(TSR_OP_CROSS_ENTROPY_GRAD, "cross_entropy_grad", 50,
                       tsri_opencl_loss_fits_lanes, tsri_opencl_loss_define_entropy,
                       bind_cross_entropy_grad_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_CROSS_ENTROPY_GRAD, "cross_entropy_grad", tsri_opencl_loss_fits,
                       tsri_opencl_loss_define_entropy, bind_cross_entropy_grad),
     .weight_operand = -1},
    {.name = NULL},
};
