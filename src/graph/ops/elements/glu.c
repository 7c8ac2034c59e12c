/* graph/ops/elements/glu.c - the op glu: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_activation_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[0];
    const tsr_dim both = x->rank ? tsri_tensor_columns(x) : tsri_tensor_const(1);
    if (!tsri_graph_is_f32(x) || both.symbols || both.factor % 2)
        return tsri_graph_refuse("glu", "x", x, "f32 [..,2F], gate then up");
    TRY(tsri_graph_check_gates("glu", attrs));
    tsri_graph_shape_like(&s->out[0], TSR_F32, x, tsri_tensor_const(both.factor / 2));
    return TSR_OK;
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsri_value in[] = {node->in[0], d_out[0]};
    tsri_graph_give(b, node->in[0],
                    tsri_graph_op1(tsri_graph_of(b), TSR_OP_GLU_GRAD, node->attrs, in, 2));
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 16 * tsri_graph_elements(op->out[0], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_glu = {.name = "glu",
                                             .id = TSR_OP_GLU,
                                             .attrs_size = sizeof(tsr_activation_attrs),
                                             .infer = infer,
                                             .gradient = gradient,
                                             .cost = cost};
