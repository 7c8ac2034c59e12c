/* graph/ops/attention/attention.c - the op attention: its shapes, the simpler ops that replace it,
 * its gradient and its cost. */
#include "graph/ops/check.h"

#include <math.h>

TSRI_OPERANDS(attention);

/* Checks where the keys lie, and what is added to the scores. */
static tsr_status check_scores(const tsri_graph_signature *s, const tsr_tensor *q,
                               const tsr_tensor *k) {
    const tsr_tensor *source = tsri_graph_operand(s, SOURCE), *bias = tsri_graph_operand(s, BIAS),
                     *relative = tsri_graph_operand(s, RELATIVE),
                     *pages = tsri_graph_operand(s, PAGES);
    if (!tsri_graph_is_pages(pages, q->dim[0]))
        return tsri_graph_refuse("attention", "pages", pages, "i32 [B,pages]");
    if (!source && !pages && !tsri_graph_operand(s, SLOT) &&
        !tsri_graph_has_rows(k->dim[0], q->dim[0]))
        return tsri_graph_refuse("attention", "k", k,
                                 "at least q's B sequences, or a `slot`, `source` or `pages` that "
                                 "chooses among them");
    const tsr_dim keys = pages ? tsri_tensor_times(k->dim[1], pages->dim[1]) : k->dim[1];
    if (source && (source->dtype != TSR_I32 || source->rank != 2 ||
                   !tsri_tensor_same_dim(source->dim[0], q->dim[0]) ||
                   !tsri_tensor_same_dim(source->dim[1], keys)))
        return tsri_graph_refuse("attention", "source", source, "i32 [B,S] with k's S");
    if (!tsri_graph_is_score_bias(bias, q, keys))
        return tsri_graph_refuse("attention", "bias", bias,
                                 "f32 [B,H,T,S] with q's B, H and T and k's S, or sizes of 1");
    if (!tsri_graph_is_relative(relative, q->dim[2]))
        return tsri_graph_refuse("attention", "relative", relative, "f32 [H,2R+1]");
    if (!tsri_graph_is_vector(tsri_graph_operand(s, SINKS), q->dim[2]))
        return tsri_graph_refuse("attention", "sinks", s->in[SINKS], "f32 [H] with q's H");
    return TSR_OK;
}

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *q = s->in[Q], *k = s->in[K], *v = s->in[V];
    const uint32_t compute = ((const tsr_attention_attrs *)s->attrs)->compute;
    if (compute != TSR_COMPUTE_F32 && compute != TSR_COMPUTE_F16 && compute != TSR_COMPUTE_BF16)
        return tsri_base_fail(TSR_E_UNSUPPORTED,
                              "attention: compute %u is not f32 (%d), f16 (%d) or bf16 (%d)",
                              compute, TSR_COMPUTE_F32, TSR_COMPUTE_F16, TSR_COMPUTE_BF16);
    const float cap = ((const tsr_attention_attrs *)s->attrs)->soft_cap,
                scale = ((const tsr_attention_attrs *)s->attrs)->scale;
    if (!(cap >= 0) || isinf(cap))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "attention: soft_cap is %g; wanted 0 or a positive number",
                              (double)cap);
    if (scale == 0 || !isfinite(scale))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "attention: scale is %g; wanted the factor of the scores, mostly 1 / "
                              "sqrt(D)",
                              (double)scale);
    if (!tsri_graph_is_f32(q) || q->rank != 4)
        return tsri_graph_refuse("attention", "q", q, "f32 [B,T,H,D]");
    if (!tsri_graph_is_kv(k) || k->rank != 4 || !tsri_tensor_same_dim(k->dim[3], q->dim[3]))
        return tsri_graph_refuse("attention", "k", k,
                                 "f32, f16, bf16 or, where D is a multiple of 32, q8_0 "
                                 "[J,S,G,D] with q's D");
    if (k->dim[2].symbols || k->dim[2].factor < 1 || q->dim[2].symbols ||
        q->dim[2].factor % k->dim[2].factor)
        return tsri_graph_refuse("attention", "k", k,
                                 "a number of key heads that divides the query heads");
    if (!tsri_graph_is_kv(v) || v->rank != 4 || !tsri_tensor_same_dim(v->dim[0], k->dim[0]) ||
        !tsri_tensor_same_dim(v->dim[1], k->dim[1]) || !tsri_tensor_same_dim(v->dim[2], k->dim[2]))
        return tsri_graph_refuse("attention", "v", v,
                                 "f32, f16, bf16 or, where Dv is a multiple of 32, q8_0 "
                                 "[J,S,G,Dv] with k's J, S and G");
    for (uint32_t i = PAST; i <= SLOT; i++)
        if (!tsri_graph_is_ints(tsri_graph_operand(s, i), q->dim[0]))
            return tsri_graph_refuse("attention", tsri_graph_input_name(TSR_OP_ATTENTION, i),
                                     s->in[i], "i32 [B]");
    TRY(check_scores(s, q, k));
    s->out[Y].dtype = s->out[LSE].dtype = TSR_F32;
    s->out[Y].rank = 4;
    for (int i = 0; i < 3; i++)
        s->out[Y].dim[i] = q->dim[i];
    s->out[Y].dim[3] = v->dim[3];
    s->out[LSE].rank = 3;
    s->out[LSE].dim[0] = q->dim[0];
    s->out[LSE].dim[1] = q->dim[2];
    s->out[LSE].dim[2] = q->dim[1];
    return TSR_OK;
}

tsri_value tsri_graph_as_keys(tsri_graph *graph, tsri_value x, uint32_t axis, tsr_dim T) {
    if (x == TSRI_GRAPH_NONE)
        return x;
    tsr_tensor t = tsri_graph_value_at(graph, x)->tensor;
    if (!(t.dim[axis].symbols & T.symbols))
        return x;
    t.dim[axis] = tsri_graph_counted_keys(t.dim[axis], T);
    return tsri_graph_same_view(graph, x, &t);
}

/* x[J,S,G,E] -> [B,G,R,S,E]: picks the slots that the batch reads, and repeats each head for the R
 * query heads that share it. */
static tsri_value per_query_head(tsri_graph *graph, tsri_value x, tsri_value slot, int64_t R) {
    if (x == TSRI_GRAPH_NONE)
        return x;
    const tsri_value by_head = tsri_graph_permute(graph, x, (uint32_t[]){0, 2, 1, 3});
    if (by_head == TSRI_GRAPH_NONE)
        return by_head;
    /* in a state the keys of a head are adjacent */
    const bool turned = !tsri_tensor_is_packed(&tsri_graph_value_at(graph, x)->tensor) &&
                        tsri_tensor_is_packed(&tsri_graph_value_at(graph, by_head)->tensor);
    if (slot != TSRI_GRAPH_NONE) {
        x = turned ? by_head : x;
        const tsr_tensor t = tsri_graph_value_at(graph, x)->tensor;
        const tsr_dim flat[] = {t.dim[0],
                                tsri_tensor_times(tsri_tensor_times(t.dim[1], t.dim[2]), t.dim[3])};
        const tsri_value rows = tsri_graph_reshape(graph, x, 2, flat);
        const tsri_value picked =
            tsri_graph_op1(graph, TSR_OP_GATHER, NULL, (tsri_value[]){rows, slot}, 2);
        if (picked == TSRI_GRAPH_NONE)
            return picked;
        const tsr_dim dims[] = {tsri_graph_value_at(graph, picked)->tensor.dim[0], t.dim[1],
                                t.dim[2], t.dim[3]};
        x = tsri_graph_reshape(graph, picked, 4, dims);
        if (turned)
            return tsri_graph_expand(graph, x, 2, tsri_tensor_const(R));
    }
    const tsri_value heads = tsri_graph_permute(graph, x, (uint32_t[]){0, 2, 1, 3});
    return tsri_graph_expand(graph, heads, 2, tsri_tensor_const(R));
}

/* Keys or values that are kept in blocks become f32: products of two activations read floats. */
static tsri_value unpacked(tsri_graph *graph, tsri_value x) {
    const tsr_cast_attrs attrs = {.struct_size = sizeof attrs, .dtype = TSR_F32};
    if (x == TSRI_GRAPH_NONE || tsri_graph_is_float(&tsri_graph_value_at(graph, x)->tensor))
        return x;
    return tsri_graph_op1(graph, TSR_OP_CAST, &attrs, &x, 1);
}

void tsri_graph_attention_steps(tsri_graph *graph, const tsr_attention_attrs *attrs,
                                const tsri_value *in, uint32_t n_in, tsri_value *probabilities,
                                tsri_value *y) {
    tsri_value all[PAGES + 1];
    for (uint32_t i = 0; i <= PAGES; i++)
        all[i] = i < n_in ? in[i] : TSRI_GRAPH_NONE;
    *probabilities = *y = TSRI_GRAPH_NONE;
    if (all[SOURCE] != TSRI_GRAPH_NONE || all[PAGES] != TSRI_GRAPH_NONE) {
        tsri_graph_fail(graph, TSR_E_UNSUPPORTED,
                        "attention: keys that are chosen by `%s` can't be split into simpler ops",
                        all[SOURCE] != TSRI_GRAPH_NONE ? "source" : "pages");
        return;
    }
    if (tsri_graph_status(graph) != TSR_OK)
        return;
    const tsr_dim T = tsri_graph_value_at(graph, all[Q])->tensor.dim[1];
    all[K] = unpacked(graph, tsri_graph_as_keys(graph, all[K], 1, T));
    all[V] = unpacked(graph, tsri_graph_as_keys(graph, all[V], 1, T));
    if (tsri_graph_status(graph) != TSR_OK)
        return;
    const tsr_tensor q = tsri_graph_value_at(graph, all[Q])->tensor,
                     k = tsri_graph_value_at(graph, all[K])->tensor;
    const int64_t G = k.dim[2].factor, R = q.dim[2].factor / G;
    const float cap = attrs->soft_cap;
    const tsr_matmul_attrs scores = {.struct_size = sizeof scores,
                                     .trans_b = 1,
                                     .alpha = cap > 0 ? attrs->scale / cap : 1},
                           values = {.struct_size = sizeof values, .alpha = 1};
    const tsr_softmax_attrs softmax = {.struct_size = sizeof softmax,
                                       .causal = attrs->causal,
                                       .window = attrs->window,
                                       .scale = cap > 0 ? cap : attrs->scale};

    const tsri_value heads = tsri_graph_permute(graph, all[Q], (uint32_t[]){0, 2, 1, 3});
    const tsri_value q5 = tsri_graph_split(graph, heads, 1, G, R),
                     k5 = per_query_head(graph, all[K], all[SLOT], R);
    const tsri_value s5 = tsri_graph_op1(graph, TSR_OP_MATMUL, &scores, (tsri_value[]){q5, k5}, 2);
    const tsr_dim flat[] = {q.dim[0], q.dim[2], q.dim[1], k.dim[1]};
    const tsri_value s4 = tsri_graph_activate(graph, cap > 0 ? TSR_ACT_TANH : TSR_ACT_NONE,
                                              tsri_graph_reshape(graph, s5, 4, flat));
    *probabilities = tsri_graph_op1(
        graph, TSR_OP_SOFTMAX, &softmax,
        (tsri_value[]){s4, all[PAST], all[LEN], all[BIAS], all[RELATIVE], all[SINKS]}, 6);
    const tsri_value p5 = tsri_graph_split(graph, *probabilities, 1, G, R),
                     v5 = per_query_head(graph, all[V], all[SLOT], R);
    const tsri_value y5 = tsri_graph_op1(graph, TSR_OP_MATMUL, &values, (tsri_value[]){p5, v5}, 2);
    if (y5 == TSRI_GRAPH_NONE)
        return;
    const tsr_dim merged[] = {q.dim[0], q.dim[2], q.dim[1],
                              tsri_graph_value_at(graph, all[V])->tensor.dim[3]};
    const tsri_value y4 = tsri_graph_permute(graph, tsri_graph_reshape(graph, y5, 4, merged),
                                             (uint32_t[]){0, 2, 1, 3});
    *y = tsri_graph_op1(graph, TSR_OP_COPY, NULL, &y4, 1);
}

static void decompose(tsri_graph *graph, const tsri_graph_node *node, const tsri_value *in,
                      tsri_value *out) {
    tsri_value probabilities;
    tsri_graph_attention_steps(graph, node->attrs, in, node->n_in, &probabilities, &out[0]);
}

/* Simpler ops can compute neither keys by source or pages nor the log of a masked sum. */
static bool decomposes(const tsr_op *op) {
    const bool lse = op->n_out > 1 && op->out[LSE], source = op->n_in > SOURCE && op->in[SOURCE],
               pages = op->n_in > PAGES && op->in[PAGES];
    return !lse && !source && !pages;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const tsr_tensor *q = op->in[Q], *k = op->in[K], *v = op->in[V];
    tsr_tensor keys = *k;
    keys.dim[1] = tsri_tensor_positions(op, "S");
    const double S = (double)tsri_tensor_value(keys.dim[1], sizes);
    const double B = (double)tsri_tensor_value(q->dim[0], sizes), G = (double)k->dim[2].factor;
    return (tsri_graph_cost){
        .flops = 2 * tsri_graph_seen_pairs(op->attrs, q, &keys, sizes) *
                 (double)(q->dim[3].factor + v->dim[3].factor),
        .bytes = 4 * (tsri_graph_elements(q, sizes) + tsri_graph_elements(op->out[Y], sizes) +
                      B * S * G * (double)(k->dim[3].factor + v->dim[3].factor))};
}

/* The gradient of the sinks: what each query adds to it, and the sum. */
static void learn_sinks(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *all,
                        tsri_value dy) {
    tsri_graph *graph = tsri_graph_of(b);
    const tsri_value in[] = {all[SINKS], node->out[Y], node->out[LSE], tsri_graph_packed(graph, dy),
                             all[PAST],  all[LEN]};
    const tsri_value rows = tsri_graph_matrix(
        graph, tsri_graph_op1(graph, TSR_OP_ATTENTION_SINKS_GRAD, node->attrs, in, 6));
    tsri_graph_give(b, all[SINKS], tsri_graph_op1(graph, TSR_OP_SUM_ROWS, NULL, &rows, 1));
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    tsri_graph *graph = tsri_graph_of(b);
    tsri_value all[PAGES + 1], d[4];
    for (uint32_t i = 0; i <= PAGES; i++)
        all[i] = i < node->n_in ? node->in[i] : TSRI_GRAPH_NONE;
    if (node->out[LSE] == TSRI_GRAPH_NONE || d_out[LSE] != TSRI_GRAPH_NONE ||
        all[SLOT] != TSRI_GRAPH_NONE || all[SOURCE] != TSRI_GRAPH_NONE ||
        all[PAGES] != TSRI_GRAPH_NONE || tsri_graph_wants(b, all[BIAS])) {
        tsri_graph_fail(graph, TSR_E_UNSUPPORTED,
                        "attention has a gradient only where lse is an output, no loss depends on "
                        "it, the keys are those of this run (no slot, source or pages), and the "
                        "bias is not trained");
        return;
    }
    const bool learns = tsri_graph_wants(b, all[RELATIVE]);
    const tsri_value in[] = {all[Q],   all[K],    all[V],   node->out[Y], node->out[LSE],
                             d_out[Y], all[PAST], all[LEN], all[BIAS],    all[RELATIVE]};
    tsri_graph_op(graph, TSR_OP_ATTENTION_GRAD, node->attrs, in, 10, learns ? 8 : 0, d);
    tsri_graph_give(b, all[Q], d[0]);
    tsri_graph_give(b, all[K], d[1]);
    tsri_graph_give(b, all[V], d[2]);
    if (learns)
        tsri_graph_give(b, all[RELATIVE], d[3]);
    if (tsri_graph_wants(b, all[SINKS]))
        learn_sinks(b, node, all, d_out[Y]);
}

const tsri_graph_op_row tsri_graph_op_attention = {.name = "attention",
                                                   .id = TSR_OP_ATTENTION,
                                                   .attrs_size = sizeof(tsr_attention_attrs),
                                                   .infer = infer,
                                                   .decompose = decompose,
                                                   .decomposes = decomposes,
                                                   .gradient = gradient,
                                                   .cost = cost};
