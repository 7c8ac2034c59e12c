/* backends/opencl/variants/attention/softmax.c - softmax, with masks and biases. */
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/heads.h"

TSRI_OPERANDS(softmax);

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_softmax_attrs *attrs = op->attrs;
    const tsr_tensor *x = op->in[X], *y = op->out[Y], *bias = tsri_opencl_in(op, BIAS);
    const bool masked =
        attrs->causal || attrs->window || tsri_opencl_in(op, PAST) || tsri_opencl_in(op, LEN);
    if (!tsri_opencl_is_float(x) || !tsri_opencl_is_float(y) ||
        (bias && !tsri_opencl_is_float(bias)))
        return tsri_opencl_refuse(why, "operands are taken as f32, f16 or bf16 only");
    if (masked && x->rank < 2)
        return tsri_opencl_refuse(why, "a mask needs queries and keys; x has one dimension");
    return tsri_opencl_fits_score_vectors(tsri_opencl_in(op, RELATIVE), tsri_opencl_in(op, SINKS),
                                          why) &&
           tsri_opencl_fits_index(op, why);
}

static bool fits_group(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    return fits_plain(variant, facts, op, why) && tsri_opencl_fits_group_row(variant, facts, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_softmax_attrs *attrs = op->attrs;
    const tsr_tensor *x = op->in[X];
    tsri_opencl_define_operand(defines, "X", x);
    tsri_opencl_define_operand(defines, "Y", op->out[Y]);
    tsri_opencl_define_operand(defines, "BIAS", tsri_opencl_in(op, BIAS));
    tsri_opencl_define_int(defines, "BATCH_AXIS", x->rank > 1 ? 8 - (int)x->rank : 6);
    tsri_opencl_define_mask(defines, attrs->causal, attrs->window, tsri_opencl_in(op, PAST),
                            tsri_opencl_in(op, LEN));
    tsri_opencl_define_int(defines, "HAS_BIAS", tsri_opencl_in(op, BIAS) != NULL);
    tsri_opencl_define_int(defines, "HAS_RELATIVE", tsri_opencl_in(op, RELATIVE) != NULL);
    tsri_opencl_define_int(defines, "HAS_SINKS", tsri_opencl_in(op, SINKS) != NULL);
}

static void define_group(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    define_plain(variant, op, defines);
    tsri_opencl_define_group_row(variant, defines);
}

static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_softmax_attrs *attrs = op->attrs;
    const tsr_tensor *x = op->in[X], *y = op->out[Y], *bias = tsri_opencl_in(op, BIAS),
                     *relative = tsri_opencl_in(op, RELATIVE);
    const tsr_tensor view = tsri_opencl_broadcast(bias ? bias : x, x);

    tsri_opencl_arg_inputs(launch, op, X, RELATIVE);
    tsri_opencl_arg_int(launch, "reach", relative ? relative->dim[1].factor / 2 : 0);
    tsri_opencl_arg_tensor(launch, "sinks", tsri_opencl_in(op, SINKS));
    tsri_opencl_arg_tensor(launch, "y", y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(x));
    tsri_opencl_arg_sizes(launch, x);
    tsri_opencl_arg_strides(launch, "x", x);
    tsri_opencl_arg_strides(launch, "bias", &view);
    tsri_opencl_arg_strides(launch, "y", y);
    tsri_opencl_arg_float(launch, "scale", attrs->scale != 0.0f ? attrs->scale : 1.0f);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *x = op->in[X];
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(x), 1);
    tsri_opencl_work(launch, tsri_tensor_times(tsri_tensor_columns(x), tsri_tensor_const(32)));
}

static void bind_group(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind_operands(op, launch);
    tsri_opencl_group_row(launch, tsri_tensor_rows(op->in[X]), tsri_tensor_columns(op->in[X]));
}

const tsri_opencl_variant tsri_opencl_variants_softmax[] = {
    TSRI_OPENCL_GROUP_VARIANTS(TSR_OP_SOFTMAX, "softmax/group.cl", fits_group, define_group,
                               bind_group),
    {TSRI_OPENCL_PLAIN(TSR_OP_SOFTMAX, "softmax", fits_plain, define_plain, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
