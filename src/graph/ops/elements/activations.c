/* graph/ops/elements/activations.c - relu, gelu, gelu_tanh, silu, tanh and sigmoid, which differ in
 * their numbers only: their shapes, their gradients and their cost. */
#include "graph/ops/check.h"

/* The op of each activation. */
static const tsr_op_id ops[] = {
    [TSR_ACT_RELU] = TSR_OP_RELU,           [TSR_ACT_GELU] = TSR_OP_GELU,
    [TSR_ACT_GELU_TANH] = TSR_OP_GELU_TANH, [TSR_ACT_SILU] = TSR_OP_SILU,
    [TSR_ACT_TANH] = TSR_OP_TANH,           [TSR_ACT_SIGMOID] = TSR_OP_SIGMOID,
};
enum { N_OPS = sizeof ops / sizeof *ops };

tsri_value tsri_graph_activate(tsri_graph *graph, uint32_t activation, tsri_value x) {
    if (activation == TSR_ACT_NONE)
        return x;
    if (activation >= N_OPS) {
        tsri_graph_fail(graph, TSR_E_UNSUPPORTED, "activation %u is not known to this version",
                        activation);
        return TSRI_GRAPH_NONE;
    }
    return tsri_graph_op1(graph, ops[activation], NULL, &x, 1);
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    uint32_t activation = TSR_ACT_NONE;
    while (ops[activation] != node->id)
        activation++;
    tsri_graph_give(b, node->in[0],
                    tsri_graph_activation_gradient(b, activation, node->in[0], d_out[0]));
}

#define ACTIVATION(id_, name_)                                                        \
    const tsri_graph_op_row tsri_graph_op_##name_ = {.name = #name_,                  \
                                                     .id = TSR_OP_##id_,              \
                                                     .infer = tsri_graph_infer_unary, \
                                                     .gradient = gradient,            \
                                                     .cost = tsri_graph_cost_unary}

ACTIVATION(RELU, relu);
ACTIVATION(GELU, gelu);
ACTIVATION(GELU_TANH, gelu_tanh);
ACTIVATION(SILU, silu);
ACTIVATION(TANH, tanh);
ACTIVATION(SIGMOID, sigmoid);
