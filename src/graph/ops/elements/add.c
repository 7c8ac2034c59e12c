/* graph/ops/elements/add.c - the op add: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(add);

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    tsri_graph_give(b, node->in[A], d_out[Y]);
    tsri_graph_give_broadcast(b, node->in[B], d_out[Y]);
}

const tsri_graph_op_row tsri_graph_op_add = {.name = "add",
                                             .id = TSR_OP_ADD,
                                             .infer = tsri_graph_infer_binary,
                                             .gradient = gradient,
                                             .cost = tsri_graph_cost_unary};
