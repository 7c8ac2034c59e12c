/* graph/ops/reduce/topk.c - the op topk: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(topk);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_topk_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[0];
    if (!tsri_graph_is_f32(x) || x->rank != 2 || x->dim[1].symbols)
        return tsri_graph_refuse("topk", "x", x, "f32 [R,V]");
    if (attrs->k < 1 || attrs->k > x->dim[1].factor)
        return tsri_base_fail(TSR_E_ARGUMENT, "topk: k is %u; wanted 1 to %lld", attrs->k,
                              (long long)x->dim[1].factor);
    for (int i = VALUES; i <= LSE; i++) {
        s->out[i].dtype = i == INDICES ? TSR_I32 : TSR_F32;
        s->out[i].rank = i == LSE ? 1 : 2;
        s->out[i].dim[0] = x->dim[0];
        s->out[i].dim[1] = tsri_tensor_const(attrs->k);
    }
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = tsri_graph_elements(op->in[0], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_topk = {.name = "topk",
                                              .id = TSR_OP_TOPK,
                                              .attrs_size = sizeof(tsr_topk_attrs),
                                              .infer = infer,
                                              .cost = cost};
