/* backends/opencl/variants/attention/distance_scores_grad.c - the gradient of distance_scores. */
#include "backends/opencl/variants/shared/common.h"

TSRI_OPERANDS(distance_scores_grad);

static bool fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                 const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    if (!tsri_tensor_is_packed(op->in[PLACE]) || !tsri_tensor_is_packed(op->in[DY]) ||
        !tsri_tensor_is_packed(op->out[DBY_QUERY]) || !tsri_tensor_is_packed(op->out[DBY_KEY]))
        return tsri_opencl_refuse(why, "an operand is not contiguous; copy it first");
    if (!tsri_opencl_is_constant(op->in[DY]->dim[1]) ||
        !tsri_opencl_is_constant(op->out[DBY_QUERY]->dim[3]))
        return tsri_opencl_refuse(why, "the number of heads or of places is not a constant");
    return tsri_opencl_fits_index(op, why);
}

static void bind(const tsri_opencl_variant *variant, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *dy = op->in[DY], *dby_query = op->out[DBY_QUERY];
    const tsr_dim T = dy->dim[2], S = dy->dim[3];
    const int64_t queries = tsri_opencl_highest(op, T), keys = tsri_opencl_highest(op, S),
                  P = dby_query->dim[3].factor;
    tsri_opencl_arg_inputs(launch, op, PLACE, DY);
    tsri_opencl_arg_tensor(launch, "dby_query", dby_query);
    tsri_opencl_arg_tensor(launch, "dby_key", op->out[DBY_KEY]);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "B", dy->dim[0]);
    tsri_opencl_arg_dim(launch, "T", T);
    tsri_opencl_arg_dim(launch, "S", S);
    tsri_opencl_arg_int(launch, "H", dy->dim[1].factor);
    tsri_opencl_arg_int(launch, "P", P);
    tsri_opencl_arg_int(launch, "R", op->in[PLACE]->dim[0].factor / 2);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(queries > keys ? queries : keys), 1);
    tsri_opencl_grid(launch, 1, tsri_tensor_times(dy->dim[0], dy->dim[1]), 1);
    tsri_opencl_work(launch, tsri_tensor_const(2 * P + queries + keys));
}

const tsri_opencl_variant tsri_opencl_variants_distance_scores_grad[] = {
    {TSRI_OPENCL_PLAIN(TSR_OP_DISTANCE_SCORES_GRAD, "distance_scores_grad", fits, NULL, bind),
     .weight_operand = -1},
    {.name = NULL},
};
