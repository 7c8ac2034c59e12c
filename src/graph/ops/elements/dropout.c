/* graph/ops/elements/dropout.c - the op dropout: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(dropout);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_dropout_attrs *attrs = s->attrs;
    if (!(attrs->rate >= 0 && attrs->rate < 1))
        return tsri_base_fail(TSR_E_ARGUMENT, "dropout: rate is %g; wanted 0 <= rate < 1",
                              (double)attrs->rate);
    if (!tsri_graph_is_ints(s->in[SEED], tsri_tensor_const(4)))
        return tsri_graph_refuse("dropout", "seed", s->in[SEED], "i32 [4]");
    return tsri_graph_infer_unary(s);
}

/* The same elements are kept. */
static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsri_value in[] = {d_out[Y], node->in[SEED]};
    tsri_graph_give(b, node->in[X],
                    tsri_graph_op1(tsri_graph_of(b), TSR_OP_DROPOUT, node->attrs, in, 2));
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 24 * tsri_graph_elements(op->in[X], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_dropout = {.name = "dropout",
                                                 .id = TSR_OP_DROPOUT,
                                                 .attrs_size = sizeof(tsr_dropout_attrs),
                                                 .infer = infer,
                                                 .gradient = gradient,
                                                 .cost = cost};
