/* graph/ops/reduce/topk.c - the op topk: its shapes, its gradient and its cost. */
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

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    if (node->n_out > LSE && d_out[LSE] != TSRI_GRAPH_NONE)
        tsri_graph_fail(tsri_graph_of(b), TSR_E_UNSUPPORTED,
                        "topk: the gradient of the log-sum-exp is not supported");
    const tsri_value in[] = {node->in[X], node->out[INDICES], d_out[VALUES]};
    if (d_out[VALUES] != TSRI_GRAPH_NONE)
        tsri_graph_give(b, node->in[X],
                        tsri_graph_op1(tsri_graph_of(b), TSR_OP_TOPK_GRAD, NULL, in, 3));
}

const tsri_graph_op_row tsri_graph_op_topk = {.name = "topk",
                                              .id = TSR_OP_TOPK,
                                              .attrs_size = sizeof(tsr_topk_attrs),
                                              .infer = infer,
                                              .gradient = gradient,
                                              .cost = cost};
