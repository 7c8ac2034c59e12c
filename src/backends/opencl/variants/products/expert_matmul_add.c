/* backends/opencl/variants/products/expert_matmul_add.c - expert_matmul_add: the gradient of the weights
 * of experts. */
#include "backends/opencl/variants/shared/common.h"

TSRI_OPERANDS(expert_matmul_add);

static bool fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                 const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    if (!tsri_tensor_is_packed(op->in[STATE]) || !tsri_tensor_is_packed(op->in[EXPERTS]))
        return tsri_opencl_refuse(why, "the state or the experts are not contiguous");
    return tsri_opencl_fits_rows(op->in[A], why) && tsri_opencl_fits_rows(op->in[B], why) &&
           tsri_opencl_fits_index(op, why);
}

static void define(const tsri_opencl_variant *variant, const tsr_op *op,
                   tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_int(defines, "HAS_BETA", tsri_opencl_in(op, BETA) != NULL);
}

static void bind(const tsri_opencl_variant *variant, const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_tensor *state = op->in[STATE];
    const tsr_dim pairs = tsri_tensor_count(op->in[EXPERTS]);
    const int64_t J = op->in[EXPERTS]->dim[1].factor;
    (void)variant;
    tsri_opencl_arg_inputs(launch, op, STATE, BETA);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "P", pairs);
    tsri_opencl_arg_int(launch, "E", state->dim[0].factor);
    tsri_opencl_arg_int(launch, "M", state->dim[1].factor);
    tsri_opencl_arg_int(launch, "N", state->dim[2].factor);
    tsri_opencl_arg_int(launch, "a_share", tsri_tensor_is_one(op->in[A]->dim[1]) ? J : 1);
    tsri_opencl_arg_int(launch, "b_share", tsri_tensor_is_one(op->in[B]->dim[1]) ? J : 1);
    tsri_opencl_arg_row(launch, "a", op->in[A]);
    tsri_opencl_arg_row(launch, "b", op->in[B]);
    for (int i = 0; i < 3; i++)
        tsri_opencl_grid(launch, i, state->dim[2 - i], 1);
    tsri_opencl_work(launch, tsri_tensor_const(tsri_opencl_highest(op, pairs)));
}

const tsri_opencl_variant tsri_opencl_variants_expert_matmul_add[] = {
    {TSRI_OPENCL_PLAIN(TSR_OP_EXPERT_MATMUL_ADD, "expert_matmul_add", fits, define, bind),
     .weight_operand = -1},
    {.name = NULL},
};
