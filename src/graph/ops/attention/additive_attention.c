/* graph/ops/attention/additive_attention.c - the op additive_attention: its shapes, the simpler ops
 * that replace it, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(additive_attention);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *q = s->in[Q], *k = s->in[K], *values = s->in[VALUES],
                     *len = tsri_graph_operand(s, LEN), *slot = tsri_graph_operand(s, SLOT);
    if (!tsri_graph_is_f32(q) || q->rank != 3)
        return tsri_graph_refuse("additive_attention", "q", q, "f32 [B,T,A]");
    if (!tsri_graph_is_float(k) || k->rank != 3 || !tsri_tensor_same_dim(k->dim[2], q->dim[2]))
        return tsri_graph_refuse("additive_attention", "k", k,
                                 "f32, f16 or bf16 [J,S,A] with q's A");
    if (k->dim[1].symbols & (q->dim[0].symbols | q->dim[1].symbols))
        return tsri_graph_refuse(
            "additive_attention", "k", k,
            "a number of keys with another symbol than the queries and the sequences");
    if (!tsri_graph_is_vector(s->in[V], q->dim[2]))
        return tsri_graph_refuse("additive_attention", "v", s->in[V], "f32 [A]");
    if (!tsri_graph_is_float(values) || values->rank != 3 ||
        !tsri_tensor_same_dim(values->dim[0], k->dim[0]) ||
        !tsri_tensor_same_dim(values->dim[1], k->dim[1]))
        return tsri_graph_refuse("additive_attention", "values", values,
                                 "f32, f16 or bf16 [J,S,E] with k's J and S");
    if (!tsri_graph_is_ints(len, q->dim[0]) || !tsri_graph_is_ints(slot, q->dim[0]))
        return tsri_graph_refuse("additive_attention", "len or slot",
                                 !tsri_graph_is_ints(len, q->dim[0]) ? len : slot, "i32 [B]");
    if (!slot && !tsri_graph_has_rows(k->dim[0], q->dim[0]))
        return tsri_graph_refuse("additive_attention", "k", k,
                                 "at least q's B sequences, or a `slot` that chooses among them");
    tsri_graph_shape_like(&s->out[Y], TSR_F32, q, values->dim[2]);
    tsri_graph_shape_like(&s->out[PROBABILITIES], TSR_F32, q, k->dim[1]);
    return TSR_OK;
}

/* x[J,S,C] -> [B,S,C]: picks the slots that the batch reads. */
static tsri_value in_batch(tsri_graph *graph, tsri_value x, tsri_value slot) {
    if (slot == TSRI_GRAPH_NONE || x == TSRI_GRAPH_NONE)
        return x;
    const tsr_tensor t = tsri_graph_value_at(graph, x)->tensor;
    if (!tsri_tensor_is_packed(&t))
        x = tsri_graph_op1(graph, TSR_OP_COPY, NULL, &x, 1);
    const tsr_dim flat[] = {t.dim[0], tsri_tensor_times(t.dim[1], t.dim[2])};
    const tsri_value rows = tsri_graph_reshape(graph, x, 2, flat);
    const tsri_value picked =
        tsri_graph_op1(graph, TSR_OP_GATHER, NULL, (tsri_value[]){rows, slot}, 2);
    if (picked == TSRI_GRAPH_NONE)
        return picked;
    const tsr_dim dims[] = {tsri_graph_value_at(graph, picked)->tensor.dim[0], t.dim[1], t.dim[2]};
    return tsri_graph_reshape(graph, picked, 3, dims);
}

static tsri_value as_f32(tsri_graph *graph, tsri_value x) {
    const tsr_cast_attrs attrs = {.struct_size = sizeof attrs, .dtype = TSR_F32};
    if (x == TSRI_GRAPH_NONE || tsri_graph_value_at(graph, x)->tensor.dtype == TSR_F32)
        return x;
    return tsri_graph_op1(graph, TSR_OP_CAST, &attrs, &x, 1);
}

/* tanh of [B,T,S,A], times v, softmax over S, times values. */
static void decompose(tsri_graph *graph, const tsri_graph_node *node, const tsri_value *in,
                      tsri_value *out) {
    static const tsr_softmax_attrs softmax = {.struct_size = sizeof softmax};
    static const tsr_matmul_attrs product = {.struct_size = sizeof product, .alpha = 1};
    const tsri_value len = node->n_in > LEN ? in[LEN] : TSRI_GRAPH_NONE,
                     slot = node->n_in > SLOT ? in[SLOT] : TSRI_GRAPH_NONE;
    const tsr_tensor q = tsri_graph_value_at(graph, in[Q])->tensor,
                     k = tsri_graph_value_at(graph, in[K])->tensor;
    const tsr_dim one = tsri_tensor_const(1), A = q.dim[2], S = k.dim[1];
    const tsri_value keys = as_f32(graph, in_batch(graph, in[K], slot)),
                     values = in_batch(graph, in[VALUES], slot),
                     queries = tsri_graph_expand(graph, in[Q], 2, S);
    const tsri_value by_query = tsri_graph_expand(graph, keys, 1, one);
    tsri_value x = tsri_graph_op1(graph, TSR_OP_ADD, NULL, (tsri_value[]){queries, by_query}, 2);
    x = tsri_graph_op1(graph, TSR_OP_TANH, NULL, &x, 1);
    const tsri_value copied = tsri_graph_op1(graph, TSR_OP_COPY, NULL, &in[V], 1);
    const tsri_value v =
        tsri_graph_reshape(graph, copied, 2, (tsr_dim[]){A, one}); /* a weight keeps its shape */
    x = tsri_graph_op1(graph, TSR_OP_MATMUL, &product, (tsri_value[]){x, v}, 2);
    x = tsri_graph_reshape(graph, x, 3, (tsr_dim[]){q.dim[0], q.dim[1], S});
    x = tsri_graph_op1(graph, TSR_OP_SOFTMAX, &softmax, (tsri_value[]){x, TSRI_GRAPH_NONE, len}, 3);
    out[0] = tsri_graph_op1(graph, TSR_OP_MATMUL, &product, (tsri_value[]){x, values}, 2);
    out[1] = x;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double queries = tsri_graph_elements(op->in[Q], sizes) / (double)op->in[Q]->dim[2].factor;
    const double S = (double)tsri_tensor_value(op->in[K]->dim[1], sizes);
    return (tsri_graph_cost){
        .flops = queries * S *
                 (double)(20 * op->in[K]->dim[2].factor + 2 * op->in[VALUES]->dim[2].factor),
        .bytes = tsri_graph_bytes(op, sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    tsri_graph *graph = tsri_graph_of(b);
    if (node->out[PROBABILITIES] == TSRI_GRAPH_NONE || d_out[Y] == TSRI_GRAPH_NONE ||
        d_out[PROBABILITIES] != TSRI_GRAPH_NONE ||
        (node->n_in > SLOT && node->in[SLOT] != TSRI_GRAPH_NONE)) {
        tsri_graph_fail(
            graph, TSR_E_UNSUPPORTED,
            "additive_attention has a gradient only where its probabilities are an output, no loss "
            "depends on them, and the keys are those of this run (no slot)");
        return;
    }
    const tsri_value in[] = {node->in[Q],
                             node->in[K],
                             node->in[V],
                             node->in[VALUES],
                             node->out[PROBABILITIES],
                             d_out[Y],
                             node->n_in > LEN ? node->in[LEN] : TSRI_GRAPH_NONE};
    tsri_value d[4];
    tsri_graph_op(graph, TSR_OP_ADDITIVE_ATTENTION_GRAD, NULL, in, 7, 0, d);
    tsri_graph_give(b, node->in[Q], d[0]);
    tsri_graph_give(b, node->in[K], d[1]);
    if (tsri_graph_wants(b, node->in[V]))
        tsri_graph_give(b, node->in[V], tsri_graph_op1(graph, TSR_OP_SUM_ROWS, NULL, &d[2], 1));
    tsri_graph_give(b, node->in[VALUES], d[3]);
}

const tsri_graph_op_row tsri_graph_op_additive_attention = {.name = "additive_attention",
                                                            .id = TSR_OP_ADDITIVE_ATTENTION,
                                                            .infer = infer,
                                                            .decompose = decompose,
                                                            .gradient = gradient,
                                                            .cost = cost};
