/* graph/ops/attention/attention_grad.c - the op attention_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(attention_grad);

static bool same_dims(const tsr_tensor *a, const tsr_tensor *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (!tsri_tensor_same_dim(a->dim[i], b->dim[i]))
            return false;
    return true;
}

/* Whether x is an f32 array with the first three sizes of `like` and the last of `values`. */
static bool is_heads(const tsr_tensor *x, const tsr_tensor *like, const tsr_tensor *values) {
    return tsri_graph_is_f32(x) && x->rank == 4 && same_dims(x, like, 3) &&
           tsri_tensor_same_dim(x->dim[3], values->dim[3]);
}

static tsr_status infer_keys(const tsr_tensor *q, const tsr_tensor *k, const tsr_tensor *v) {
    if (!tsri_graph_is_f32(k) || k->rank != 4 || !tsri_tensor_same_dim(k->dim[0], q->dim[0]) ||
        !tsri_tensor_same_dim(k->dim[3], q->dim[3]))
        return tsri_graph_refuse("attention_grad", "k", k, "f32 [B,S,G,D] with q's B and D");
    if (k->dim[2].symbols || k->dim[2].factor < 1 || q->dim[2].symbols ||
        q->dim[2].factor % k->dim[2].factor)
        return tsri_graph_refuse("attention_grad", "k", k,
                                 "a number of key heads that divides the query heads");
    if (!tsri_graph_is_f32(v) || v->rank != 4 || !same_dims(v, k, 3))
        return tsri_graph_refuse("attention_grad", "v", v, "f32 [B,S,G,Dv] with k's B, S and G");
    return TSR_OK;
}

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *q = s->in[Q], *k = s->in[K], *v = s->in[V], *lse = s->in[LSE],
                     *past = tsri_graph_operand(s, PAST), *len = tsri_graph_operand(s, LEN),
                     *bias = tsri_graph_operand(s, BIAS),
                     *relative = tsri_graph_operand(s, RELATIVE);
    if (!tsri_graph_is_f32(q) || q->rank != 4)
        return tsri_graph_refuse("attention_grad", "q", q, "f32 [B,T,H,D]");
    const tsr_status keys = infer_keys(q, k, v);
    if (keys != TSR_OK)
        return keys;
    if (!is_heads(s->in[Y], q, v) || !is_heads(s->in[DY], q, v))
        return tsri_graph_refuse("attention_grad", "y or dy",
                                 is_heads(s->in[Y], q, v) ? s->in[DY] : s->in[Y],
                                 "f32 [B,T,H,Dv] with q's B, T and H and v's Dv");
    if (!tsri_graph_is_f32(lse) || lse->rank != 3 ||
        !tsri_tensor_same_dim(lse->dim[0], q->dim[0]) ||
        !tsri_tensor_same_dim(lse->dim[1], q->dim[2]) ||
        !tsri_tensor_same_dim(lse->dim[2], q->dim[1]))
        return tsri_graph_refuse("attention_grad", "lse", lse, "f32 [B,H,T]");
    if (!tsri_graph_is_ints(past, q->dim[0]) || !tsri_graph_is_ints(len, q->dim[0]))
        return tsri_graph_refuse("attention_grad", "past or len",
                                 tsri_graph_is_ints(past, q->dim[0]) ? len : past, "i32 [B]");
    if (!tsri_graph_is_score_bias(bias, q, k->dim[1]))
        return tsri_graph_refuse("attention_grad", "bias", bias,
                                 "f32 [B,H,T,S] with q's B, H and T and k's S, or sizes of 1");
    if (!tsri_graph_is_relative(relative, q->dim[2]))
        return tsri_graph_refuse("attention_grad", "relative", relative, "f32 [H,2R+1]");
    tsri_graph_shape_like(&s->out[DQ], TSR_F32, q, q->dim[3]);
    tsri_graph_shape_like(&s->out[DK], TSR_F32, k, k->dim[3]);
    tsri_graph_shape_like(&s->out[DV], TSR_F32, v, v->dim[3]);
    if (relative)
        tsri_graph_shape_like(&s->out[DRELATIVE], TSR_F32, relative, relative->dim[1]);
    else /* asked for without a table: an empty array */
        s->out[DRELATIVE] =
            (tsr_tensor){.dtype = TSR_F32, .rank = 2, .dim = {q->dim[2], tsri_tensor_const(0)}};
    return TSR_OK;
}

/* Five products for each visible pair: scores, dy v, dv, dq, dk. */
static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const tsr_tensor *q = op->in[Q], *v = op->in[V];
    return (tsri_graph_cost){.flops = 2 * tsri_graph_seen_pairs(op->attrs, q, op->in[K], sizes) *
                                      (double)(3 * q->dim[3].factor + 2 * v->dim[3].factor),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_attention_grad = {.name = "attention_grad",
                                                        .id = TSR_OP_ATTENTION_GRAD,
                                                        .attrs_size = sizeof(tsr_attention_attrs),
                                                        .infer = infer,
                                                        .cost = cost};
