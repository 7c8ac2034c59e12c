/* graph/ops/reduce/pool.c - the op pool: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(pool);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_pool_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[X], *len = tsri_graph_operand(s, LEN);
    if (!tsri_graph_is_f32(x) || x->rank != 3)
        return tsri_graph_refuse("pool", "x", x, "f32 [B,T,C]");
    if (!tsri_graph_is_ints(len, x->dim[0]))
        return tsri_graph_refuse("pool", "len", len, "i32 [B]");
    if (attrs->kind > TSR_POOL_LAST)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "pool: kind %u is not known to this version",
                              attrs->kind);
    s->out[Y].dtype = TSR_F32;
    s->out[Y].rank = 2;
    s->out[Y].dim[0] = x->dim[0];
    s->out[Y].dim[1] = x->dim[2];
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = tsri_graph_elements(op->in[X], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsri_value in[] = {node->in[X], node->n_in > LEN ? node->in[LEN] : TSRI_GRAPH_NONE,
                             d_out[Y]};
    tsri_graph_give(b, node->in[X],
                    tsri_graph_op1(tsri_graph_of(b), TSR_OP_POOL_GRAD, node->attrs, in, 3));
}

const tsri_graph_op_row tsri_graph_op_pool = {.name = "pool",
                                              .id = TSR_OP_POOL,
                                              .attrs_size = sizeof(tsr_pool_attrs),
                                              .infer = infer,
                                              .gradient = gradient,
                                              .cost = cost};
