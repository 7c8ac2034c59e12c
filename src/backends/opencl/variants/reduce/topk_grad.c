/* backends/opencl/variants/reduce/topk_grad.c - topk_grad: the gradient of the largest of a row. */
#include "backends/opencl/variants/shared/common.h"

TSRI_OPERANDS(topk_grad);

static bool fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                 const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    if (!tsri_tensor_is_packed(op->in[INDICES]) || !tsri_tensor_is_packed(op->in[DVALUES]) ||
        !tsri_tensor_is_packed(op->out[DX]))
        return tsri_opencl_refuse(why, "an operand is not contiguous; copy it first");
    return tsri_opencl_fits_index(op, why);
}

static void bind(const tsri_opencl_variant *variant, const tsr_op *op, tsri_opencl_launch *launch) {
    const int64_t k = op->in[INDICES]->dim[1].factor;
    const tsr_tensor *dx = op->out[DX];
    (void)variant;
    tsri_opencl_arg_inputs(launch, op, INDICES, DVALUES);
    tsri_opencl_arg_tensor(launch, "dx", dx);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", dx->dim[0]);
    tsri_opencl_arg_int(launch, "V", dx->dim[1].factor);
    tsri_opencl_arg_int(launch, "k", k);
    tsri_opencl_grid(launch, 0, dx->dim[1], 1);
    tsri_opencl_grid(launch, 1, dx->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_const(k));
}

const tsri_opencl_variant tsri_opencl_variants_topk_grad[] = {
    {TSRI_OPENCL_PLAIN(TSR_OP_TOPK_GRAD, "topk_grad", fits, NULL, bind), .weight_operand = -1},
    {.name = NULL},
};
