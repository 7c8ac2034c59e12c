/* backends/opencl/variants/attention/attention_sinks_grad.c - what each query adds to the gradient of
 * attention's sinks. */
#include "backends/opencl/variants/shared/heads.h"

TSRI_OPERANDS(attention_sinks_grad);

static bool fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                 const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *packed[] = {op->in[SINKS], op->in[Y], op->in[LSE], op->in[DY],
                                  op->out[DSINKS]};
    for (int i = 0; i < 5; i++)
        if (!tsri_opencl_is_f32(packed[i]) || !tsri_tensor_is_packed(packed[i]))
            return tsri_opencl_refuse(why, "an operand is not a packed array of f32");
    return tsri_opencl_fits_index(op, why);
}

static void define(const tsri_opencl_variant *variant, const tsr_op *op,
                   tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_int(defines, "VALUE", (int)op->in[Y]->dim[3].factor);
    tsri_opencl_define_mask(defines, ((const tsr_attention_attrs *)op->attrs)->causal, 0,
                            tsri_opencl_in(op, PAST), tsri_opencl_in(op, LEN));
}

static void bind(const tsri_opencl_variant *variant, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *y = op->in[Y];
    tsri_opencl_arg_given(launch, op, SINKS, LEN);
    tsri_opencl_arg_results(launch, op, DSINKS, DSINKS);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "B", y->dim[0]);
    tsri_opencl_arg_dim(launch, "T", y->dim[1]);
    tsri_opencl_arg_int(launch, "H", y->dim[2].factor);
    tsri_opencl_grid(launch, 0, y->dim[2], 1);
    tsri_opencl_grid(launch, 1, y->dim[1], 1);
    tsri_opencl_grid(launch, 2, y->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_const(y->dim[3].factor + 8));
}

const tsri_opencl_variant tsri_opencl_variants_attention_sinks_grad[] = {
    {TSRI_OPENCL_PLAIN(TSR_OP_ATTENTION_SINKS_GRAD, "attention_sinks_grad", fits, define, bind),
     .weight_operand = -1},
    {.name = NULL},
};
