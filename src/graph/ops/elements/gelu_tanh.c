/* graph/ops/elements/gelu_tanh.c - the op gelu_tanh: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    tsri_graph_give(b, node->in[0],
                    tsri_graph_activation_gradient(b, TSR_ACT_GELU_TANH, node->in[0], d_out[0]));
}

const tsri_graph_op_row tsri_graph_op_gelu_tanh = {.name = "gelu_tanh",
                                                   .id = TSR_OP_GELU_TANH,
                                                   .infer = tsri_graph_infer_unary,
                                                   .gradient = gradient,
                                                   .cost = tsri_graph_cost_unary};
