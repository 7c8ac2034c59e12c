/* backends/opencl/variants/reduce/choose_experts_grad.c - choose_experts_grad: the gradient of scores whose shares
 * are factors. */
#include "backends/opencl/variants/shared/common.h"

TSRI_OPERANDS(choose_experts_grad);

static bool fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                 const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    for (uint32_t i = 0; i < choose_experts_grad_inputs; i++)
        if (!tsri_tensor_is_packed(op->in[i]))
            return tsri_opencl_refuse(why, "an operand is not contiguous; copy it first");
    if (!tsri_tensor_is_packed(op->out[DSCORES]))
        return tsri_opencl_refuse(why, "the output is not contiguous");
    return tsri_opencl_fits_index(op, why);
}

static void bind(const tsri_opencl_variant *variant, const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_tensor *scores = op->in[SCORES];
    (void)variant;
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", scores->dim[0]);
    tsri_opencl_arg_int(launch, "E", scores->dim[1].factor);
    tsri_opencl_arg_int(launch, "k", op->in[EXPERTS]->dim[1].factor);
    tsri_opencl_grid(launch, 0, scores->dim[0], 1);
    tsri_opencl_work(launch, scores->dim[1]);
}

const tsri_opencl_variant tsri_opencl_variants_choose_experts_grad[] = {
    {TSRI_OPENCL_PLAIN(TSR_OP_CHOOSE_EXPERTS_GRAD, "choose_experts_grad", fits, NULL, bind),
     .weight_operand = -1},
    {.name = NULL},
};
