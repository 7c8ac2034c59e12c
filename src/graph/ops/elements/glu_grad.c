/* graph/ops/elements/glu_grad.c - the op glu_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(glu_grad);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_activation_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[X], *dy = s->in[DY];
    const tsr_dim both = x->rank ? tsri_tensor_columns(x) : tsri_tensor_const(1);
    if (!tsri_graph_is_f32(x) || both.symbols || both.factor % 2)
        return tsri_graph_refuse("glu_grad", "x", x, "f32 [..,2F], gate then up");
    tsr_tensor half = *x;
    half.dim[x->rank - 1] = tsri_tensor_const(both.factor / 2);
    if (!tsri_graph_is_like(dy, &half))
        return tsri_graph_refuse("glu_grad", "dy", dy, "f32 [..,F], half as wide as x");
    TRY(tsri_graph_check_gates("glu_grad", attrs));
    tsri_graph_shape_like(&s->out[DX], TSR_F32, x, both);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 32 * tsri_graph_elements(op->in[DY], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_glu_grad = {.name = "glu_grad",
                                                  .id = TSR_OP_GLU_GRAD,
                                                  .attrs_size = sizeof(tsr_activation_attrs),
                                                  .infer = infer,
                                                  .cost = cost};
