/* backends/opencl/variants/attention/softmax_grad.c - the gradient of softmax. */
#include "backends/opencl/variants/shared/group.h"

TSRI_OPERANDS(softmax_grad);

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    if (!tsri_opencl_is_f32(op->in[Y]) || !tsri_opencl_is_f32(op->in[DY]) ||
        !tsri_opencl_is_f32(op->out[DX]))
        return tsri_opencl_refuse(why, "operands are taken as f32 only");
    return tsri_opencl_fits_index(op, why);
}

static bool fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    if (!tsri_opencl_fits_vectors(facts, why))
        return false;
    if (!tsri_opencl_last_contiguous(op->in[Y]) || !tsri_opencl_last_contiguous(op->in[DY]) ||
        !tsri_opencl_last_contiguous(op->out[DX]))
        return tsri_opencl_refuse(why, "the elements of a row are not contiguous");
    return fits_plain(variant, facts, op, why);
}

static bool fits_group(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    return fits_plain(variant, facts, op, why) && tsri_opencl_fits_group_row(variant, facts, why);
}

static void define_group(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)op;
    tsri_opencl_define_group_row(variant, defines);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_scale_attrs *attrs = op->attrs;
    const tsr_tensor *y = op->in[Y], *dy = op->in[DY], *dx = op->out[DX];
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(y));
    tsri_opencl_arg_sizes(launch, y);
    tsri_opencl_arg_strides(launch, "y", y);
    tsri_opencl_arg_strides(launch, "dy", dy);
    tsri_opencl_arg_strides(launch, "dx", dx);
    tsri_opencl_arg_float(launch, "scale", attrs->alpha);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(y), 1);
    tsri_opencl_work(launch, tsri_tensor_times(tsri_tensor_columns(y), tsri_tensor_const(3)));
}

static void bind_group(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    bind_plain(variant, op, launch);
    tsri_opencl_group_row(launch, tsri_tensor_rows(op->in[Y]), tsri_tensor_columns(op->in[Y]));
}

const tsri_opencl_variant tsri_opencl_variants_softmax_grad[] = {
    TSRI_OPENCL_GROUP_VARIANTS(TSR_OP_SOFTMAX_GRAD, "softmax_grad/group.cl", fits_group,
                               define_group, bind_group),
    {TSRI_OPENCL_LANES(TSR_OP_SOFTMAX_GRAD, "softmax_grad", 40, fits_lanes, NULL, bind_plain),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_SOFTMAX_GRAD, "softmax_grad", fits_plain, NULL, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
