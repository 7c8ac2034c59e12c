/* graph/ops/lookup/gather.c - the op gather: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(gather);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *x = s->in[X], *index = s->in[INDEX];
    if (x->rank != 2 || !tsri_graph_is_numbers(x))
        return tsri_graph_refuse("gather", "x", x,
                                 "[R,C] of numbers; embed reads the rows of blocks");
    if (index->rank != 1 || index->dtype != TSR_I32)
        return tsri_graph_refuse("gather", "index", index, "i32 [N]");
    s->out[Y].dtype = x->dtype;
    s->out[Y].rank = 2;
    s->out[Y].dim[0] = index->dim[0];
    s->out[Y].dim[1] = x->dim[1];
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.bytes = 8 * tsri_graph_elements(op->out[Y], sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsri_value in[] = {node->in[X], node->in[INDEX], d_out[Y]};
    tsri_graph_give(b, node->in[X], tsri_graph_op1(tsri_graph_of(b), TSR_OP_SCATTER, NULL, in, 3));
}

const tsri_graph_op_row tsri_graph_op_gather = {
    .name = "gather", .id = TSR_OP_GATHER, .infer = infer, .gradient = gradient, .cost = cost};
