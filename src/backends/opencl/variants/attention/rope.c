/* backends/opencl/variants/attention/rope.c - rope: rotary positions. */
#include "backends/opencl/variants/shared/heads.h"

TSRI_OPERANDS(rope);

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *x = op->in[X], *y = op->out[Y];
    if (!tsri_opencl_is_f32(x) || !tsri_opencl_is_f32(y) || !tsri_opencl_is_f32(op->in[INV_FREQ]))
        return tsri_opencl_refuse(why, "activations and inverse frequencies are taken as f32 only");
    if (!tsri_opencl_last_contiguous(y) || !tsri_tensor_is_packed(op->in[INV_FREQ]))
        return tsri_opencl_refuse(why, "the elements of a head are not contiguous");
    return tsri_opencl_fits_heads(x, why) && tsri_opencl_fits_index(op, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_rope_attrs *attrs = op->attrs;
    tsri_opencl_define_int(defines, "INTERLEAVED", attrs->interleaved != 0);
    tsri_opencl_define_int(defines, "INVERSE", attrs->inverse != 0);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_rope_attrs *attrs = op->attrs;
    const tsr_tensor *x = op->in[X], *y = op->out[Y], *positions = op->in[POSITIONS];
    const int64_t head = x->dim[3].factor;

    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "B", x->dim[0]);
    tsri_opencl_arg_dim(launch, "T", x->dim[1]);
    tsri_opencl_arg_int(launch, "H", x->dim[2].factor);
    tsri_opencl_arg_int(launch, "D", head);
    tsri_opencl_arg_int(launch, "rotary", attrs->rotary);
    tsri_opencl_arg_leading_strides(launch, "x", "bth", x);
    tsri_opencl_arg_leading_strides(launch, "y", "bth", y);
    tsri_opencl_arg_leading_strides(launch, "p", "bt", positions);
    tsri_opencl_arg_float(launch, "magnitude", attrs->magnitude != 0.0f ? attrs->magnitude : 1.0f);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(head - attrs->rotary / 2), 1);
    tsri_opencl_grid(launch, 1, x->dim[2], 1);
    tsri_opencl_grid(launch, 2, tsri_tensor_times(x->dim[0], x->dim[1]), 1);
}

const tsri_opencl_variant tsri_opencl_variants_rope[] = {
    {TSRI_OPENCL_PLAIN(TSR_OP_ROPE, "rope", fits_plain, define_plain, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
