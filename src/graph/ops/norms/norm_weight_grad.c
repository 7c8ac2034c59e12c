/* graph/ops/norms/norm_weight_grad.c - the op norm_weight_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(norm_weight_grad);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *x = s->in[X];
    if (!tsri_graph_is_f32(x) || x->rank < 1)
        return tsri_graph_refuse("norm_weight_grad", "x", x, "f32 [..,C]");
    if (!tsri_graph_is_f32(s->in[DY]) || !tsri_graph_same_shape(s->in[DY], x))
        return tsri_graph_refuse("norm_weight_grad", "dy", s->in[DY], "f32 of the shape of x");
    tsr_tensor stats = {0};
    tsri_graph_shape_like(&stats, TSR_F32, x, tsri_tensor_const(2));
    if (!tsri_graph_is_f32(s->in[STATS]) || !tsri_graph_same_shape(s->in[STATS], &stats))
        return tsri_graph_refuse("norm_weight_grad", "stats", s->in[STATS],
                                 "f32 [..,2] with the rows of x");
    for (int i = DWEIGHT; i <= DBIAS; i++) {
        s->out[i].dtype = TSR_F32;
        s->out[i].rank = 1;
        s->out[i].dim[0] = tsri_tensor_columns(x);
    }
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 5 * tsri_graph_elements(op->in[X], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_norm_weight_grad = {
    .name = "norm_weight_grad", .id = TSR_OP_NORM_WEIGHT_GRAD, .infer = infer, .cost = cost};
