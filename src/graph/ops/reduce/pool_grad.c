/* graph/ops/reduce/pool_grad.c - the op pool_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(pool_grad);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_pool_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[X], *len = tsri_graph_operand(s, LEN), *dy = s->in[DY];
    if (!tsri_graph_is_f32(x) || x->rank != 3)
        return tsri_graph_refuse("pool_grad", "x", x, "f32 [B,T,C]");
    if (!tsri_graph_is_ints(len, x->dim[0]))
        return tsri_graph_refuse("pool_grad", "len", len, "i32 [B]");
    if (!tsri_graph_is_f32(dy) || dy->rank != 2 || !tsri_tensor_same_dim(dy->dim[0], x->dim[0]) ||
        !tsri_tensor_same_dim(dy->dim[1], x->dim[2]))
        return tsri_graph_refuse("pool_grad", "dy", dy, "f32 [B,C] with x's B and C");
    if (attrs->kind > TSR_POOL_LAST)
        return tsri_base_fail(TSR_E_UNSUPPORTED, "pool_grad: kind %u is not known to this version",
                              attrs->kind);
    tsri_graph_shape_like(&s->out[DX], TSR_F32, x, x->dim[2]);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = tsri_graph_elements(op->in[X], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_pool_grad = {.name = "pool_grad",
                                                   .id = TSR_OP_POOL_GRAD,
                                                   .attrs_size = sizeof(tsr_pool_attrs),
                                                   .infer = infer,
                                                   .cost = cost};
