/* graph/ops/lookup/scatter.c - the op scatter: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(scatter);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *x = s->in[X], *index = s->in[INDEX], *dy = s->in[DY];
    if (x->rank != 2)
        return tsri_graph_refuse("scatter", "x", x, "[R,C]");
    if (index->rank != 1 || index->dtype != TSR_I32)
        return tsri_graph_refuse("scatter", "index", index, "i32 [N]");
    if (!tsri_graph_is_f32(dy) || dy->rank != 2 ||
        !tsri_tensor_same_dim(dy->dim[0], index->dim[0]) ||
        !tsri_tensor_same_dim(dy->dim[1], x->dim[1]))
        return tsri_graph_refuse("scatter", "dy", dy, "f32 [N,C] with the index's N and x's C");
    tsri_graph_shape_like(&s->out[DX], TSR_F32, x, x->dim[1]);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double dy = tsri_graph_elements(op->in[DY], sizes);
    return (tsri_graph_cost){.flops = dy,
                             .bytes = 4 * (dy + tsri_graph_elements(op->out[DX], sizes))};
}

const tsri_graph_op_row tsri_graph_op_scatter = {
    .name = "scatter", .id = TSR_OP_SCATTER, .infer = infer, .cost = cost};
