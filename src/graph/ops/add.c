/* graph/ops/add.c - the op add: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    tsri_graph_give(b, node->in[0], d_out[0]);
    tsri_graph_give_broadcast(b, node->in[1], d_out[0]);
}

const tsri_graph_op_row tsri_graph_op_add = {.name = "add",
                                             .id = TSR_OP_ADD,
                                             .min_in = 2,
                                             .max_in = 2,
                                             .n_out = 1,
                                             .may_overwrite = 1,
                                             .infer = tsri_graph_infer_binary,
                                             .gradient = gradient,
                                             .cost = tsri_graph_cost_unary};
