/* graph/ops/reduce/topk_grad.c - the op topk_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(topk_grad);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *x = s->in[X], *indices = s->in[INDICES];
    if (!tsri_graph_is_f32(x) || x->rank != 2)
        return tsri_graph_refuse("topk_grad", "x", x, "f32 [R,V]");
    if (indices->dtype != TSR_I32 || indices->rank != 2 ||
        !tsri_tensor_same_dim(indices->dim[0], x->dim[0]))
        return tsri_graph_refuse("topk_grad", "the indices", indices, "i32 [R,k] with x's R");
    if (!tsri_graph_is_like(s->in[DVALUES], indices))
        return tsri_graph_refuse("topk_grad", "dvalues", s->in[DVALUES],
                                 "f32 of the indices' shape");
    tsri_graph_shape_like(&s->out[DX], TSR_F32, x, tsri_tensor_columns(x));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double dx = tsri_graph_elements(op->out[DX], sizes);
    return (tsri_graph_cost){.flops = dx,
                             .bytes = 4 * (dx + 2 * tsri_graph_elements(op->in[INDICES], sizes))};
}

const tsri_graph_op_row tsri_graph_op_topk_grad = {
    .name = "topk_grad", .id = TSR_OP_TOPK_GRAD, .infer = infer, .cost = cost};
