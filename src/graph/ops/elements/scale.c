/* graph/ops/elements/scale.c - the op scale: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    tsri_graph_give(b, node->in[0],
                    tsri_graph_op1(tsri_graph_of(b), TSR_OP_SCALE, node->attrs, d_out, 1));
}

const tsri_graph_op_row tsri_graph_op_scale = {.name = "scale",
                                               .id = TSR_OP_SCALE,
                                               .attrs_size = sizeof(tsr_scale_attrs),
                                               .infer = tsri_graph_infer_unary,
                                               .gradient = gradient,
                                               .cost = tsri_graph_cost_unary};
