/* graph/ops/norms/layer_norm.c - the op layer_norm: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(layer_norm);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_norm_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[X];
    if (!tsri_graph_is_f32(x) || x->rank < 1)
        return tsri_graph_refuse("layer_norm", "x", x, "f32 [..,C]");
    if (!(attrs->eps >= 0))
        return tsri_base_fail(TSR_E_ARGUMENT, "layer_norm: eps is %g; wanted 0 or more",
                              (double)attrs->eps);
    for (uint32_t i = WEIGHT; i <= BIAS; i++)
        if (!tsri_graph_is_vector(tsri_graph_operand(s, i), tsri_tensor_columns(x)))
            return tsri_graph_refuse("layer_norm", tsri_graph_input_name(TSR_OP_LAYER_NORM, i),
                                     s->in[i], "f32 [C]");
    tsri_graph_shape_like(&s->out[Y], TSR_F32, x, tsri_tensor_columns(x));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 8 * tsri_graph_elements(op->in[X], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsri_value bias = node->n_in > BIAS ? node->in[BIAS] : TSRI_GRAPH_NONE;
    tsri_graph_give(b, node->in[X],
                    tsri_graph_norm_gradient(b, TSR_NORM_LAYER, node->attrs, node->in[X],
                                             node->in[WEIGHT], bias, d_out[Y],
                                             tsri_graph_take(b, node->in[X])));
}

const tsri_graph_op_row tsri_graph_op_layer_norm = {.name = "layer_norm",
                                                    .id = TSR_OP_LAYER_NORM,
                                                    .attrs_size = sizeof(tsr_norm_attrs),
                                                    .infer = infer,
                                                    .gradient = gradient,
                                                    .cost = cost};
