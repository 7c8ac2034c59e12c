/* graph/ops/elements/mul.c - the op mul: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(mul);

static tsri_value product(tsri_graph_backward *b, tsri_value x, tsri_value y) {
    return tsri_graph_op1(tsri_graph_of(b), TSR_OP_MUL, NULL, (tsri_value[]){x, y}, 2);
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    if (tsri_graph_wants(b, node->in[A]))
        tsri_graph_give(b, node->in[A], product(b, d_out[Y], node->in[B]));
    if (tsri_graph_wants(b, node->in[B]))
        tsri_graph_give_broadcast(b, node->in[B], product(b, d_out[Y], node->in[A]));
}

const tsri_graph_op_row tsri_graph_op_mul = {.name = "mul",
                                             .id = TSR_OP_MUL,
                                             .infer = tsri_graph_infer_binary,
                                             .gradient = gradient,
                                             .cost = tsri_graph_cost_unary};
