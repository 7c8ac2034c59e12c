/* graph/ops/attention/softmax_grad.c - the op softmax_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(softmax_grad);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *y = s->in[Y], *dy = s->in[DY];
    if (!tsri_graph_is_f32(y) || y->rank < 1)
        return tsri_graph_refuse("softmax_grad", "y", y, "f32 [..,S]");
    if (!tsri_graph_is_f32(dy) || !tsri_graph_same_shape(dy, y))
        return tsri_graph_refuse("softmax_grad", "dy", dy, "f32 of the shape of y");
    tsri_graph_shape_like(&s->out[DX], TSR_F32, y, tsri_tensor_columns(y));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 5 * tsri_graph_elements(op->in[Y], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_softmax_grad = {.name = "softmax_grad",
                                                      .id = TSR_OP_SOFTMAX_GRAD,
                                                      .attrs_size = sizeof(tsr_scale_attrs),
                                                      .infer = infer,
                                                      .cost = cost};
