/* graph/ops/attention/additive_attention_grad.c - the op additive_attention_grad: its shapes and
 * its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(additive_attention_grad);

static bool is_array(const tsr_tensor *x, tsr_dim B, tsr_dim rows, tsr_dim columns) {
    return tsri_graph_is_f32(x) && x->rank == 3 && tsri_tensor_same_dim(x->dim[0], B) &&
           tsri_tensor_same_dim(x->dim[1], rows) && tsri_tensor_same_dim(x->dim[2], columns);
}

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *q = s->in[Q], *k = s->in[K], *values = s->in[VALUES],
                     *probabilities = s->in[PROBABILITIES], *dy = s->in[DY],
                     *len = tsri_graph_operand(s, LEN);
    if (!tsri_graph_is_f32(q) || q->rank != 3)
        return tsri_graph_refuse("additive_attention_grad", "q", q, "f32 [B,T,A]");
    if (k->rank != 3 || !is_array(k, q->dim[0], k->dim[1], q->dim[2]))
        return tsri_graph_refuse("additive_attention_grad", "k", k, "f32 [B,S,A] with q's B and A");
    if (k->dim[1].symbols & (q->dim[0].symbols | q->dim[1].symbols))
        return tsri_graph_refuse(
            "additive_attention_grad", "k", k,
            "a number of keys with another symbol than the queries and the sequences");
    if (!tsri_graph_is_vector(s->in[V], q->dim[2]))
        return tsri_graph_refuse("additive_attention_grad", "v", s->in[V], "f32 [A]");
    if (values->rank != 3 || !is_array(values, q->dim[0], k->dim[1], values->dim[2]))
        return tsri_graph_refuse("additive_attention_grad", "values", values,
                                 "f32 [B,S,E] with k's B and S");
    if (!is_array(probabilities, q->dim[0], q->dim[1], k->dim[1]))
        return tsri_graph_refuse("additive_attention_grad", "probabilities", probabilities,
                                 "f32 [B,T,S]");
    if (!is_array(dy, q->dim[0], q->dim[1], values->dim[2]))
        return tsri_graph_refuse("additive_attention_grad", "dy", dy,
                                 "f32 [B,T,E] with q's B and T and the values' E");
    if (!tsri_graph_is_ints(len, q->dim[0]))
        return tsri_graph_refuse("additive_attention_grad", "len", len, "i32 [B]");
    tsri_graph_shape_like(&s->out[DQ], TSR_F32, q, q->dim[2]);
    tsri_graph_shape_like(&s->out[DK], TSR_F32, k, k->dim[2]);
    s->out[DV] = (tsr_tensor){.dtype = TSR_F32, .rank = 2, .dim = {q->dim[0], q->dim[2]}};
    tsri_graph_shape_like(&s->out[DVALUES], TSR_F32, values, values->dim[2]);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double pairs = tsri_graph_elements(op->in[PROBABILITIES], sizes);
    return (tsri_graph_cost){.flops = pairs * (double)(26 * op->in[Q]->dim[2].factor +
                                                       4 * op->in[VALUES]->dim[2].factor),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_additive_attention_grad = {.name = "additive_attention_grad",
                                                                 .id =
                                                                     TSR_OP_ADDITIVE_ATTENTION_GRAD,
                                                                 .infer = infer,
                                                                 .cost = cost};
