/* graph/ops/attention/qkv_append.c - the op qkv_append: its shapes, the simpler ops that replace it
 * and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(qkv_append);

static tsr_status check_state(const tsr_tensor *state, const tsr_tensor *x, const char *names[2]) {
    if (state->rank != 4 || !tsri_graph_is_kv(state))
        return tsri_graph_refuse("qkv_append", names[0], state,
                                 "f32, f16, bf16 or, where D is a multiple of 32, q8_0 "
                                 "[slots,G,capacity,D]");
    if (x->rank != 4 || !tsri_graph_is_f32(x) || !tsri_tensor_same_dim(x->dim[2], state->dim[1]) ||
        !tsri_tensor_same_dim(x->dim[3], state->dim[3]))
        return tsri_graph_refuse("qkv_append", names[1], x,
                                 "f32 [B,T,G,D] with its state's G and D");
    return TSR_OK;
}

/* Checks q, and the positions and frequencies that also rotate the keys. */
static tsr_status check_rope(tsri_graph_signature *s) {
    const tsr_rope_attrs *attrs = s->attrs;
    const tsr_tensor *k = s->in[K], *q = tsri_graph_operand(s, Q),
                     *positions = tsri_graph_operand(s, POSITIONS);
    if (!positions || !tsri_graph_operand(s, INV_FREQ))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "qkv_append: give all of q, positions and inv_freq, or none of them");
    if (!tsri_graph_is_f32(q) || q->rank != 4 || !tsri_tensor_same_dim(q->dim[0], k->dim[0]) ||
        !tsri_tensor_same_dim(q->dim[1], k->dim[1]) || !tsri_tensor_same_dim(q->dim[3], k->dim[3]))
        return tsri_graph_refuse("qkv_append", "q", q, "f32 [B,T,H,D] with k's B, T and D");
    if (attrs->rotary % 2 || k->dim[3].symbols || attrs->rotary > k->dim[3].factor)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "qkv_append: %u rotary elements; wanted an even number up to the head size %lld",
            attrs->rotary, (long long)k->dim[3].factor);
    if (attrs->inverse)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "qkv_append: inverse is set; only rope can rotate backwards");
    if (positions->dtype != TSR_I32 || positions->rank != 2 ||
        !tsri_tensor_same_dim(positions->dim[0], k->dim[0]) ||
        !tsri_tensor_same_dim(positions->dim[1], k->dim[1]))
        return tsri_graph_refuse("qkv_append", "positions", positions, "i32 [B,T]");
    if (!tsri_graph_is_vector(s->in[INV_FREQ], tsri_tensor_const(attrs->rotary / 2)))
        return tsri_graph_refuse("qkv_append", "inv_freq", s->in[INV_FREQ], "f32 [rotary/2]");
    tsri_graph_shape_like(&s->out[Y], TSR_F32, q, q->dim[3]);
    s->made = 1u << Y;
    return TSR_OK;
}

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *k = s->in[K], *v = s->in[V];
    TRY(check_state(s->in[KEYS], k, (const char *[]){"the state of keys", "k"}));
    TRY(check_state(s->in[VALUES], v, (const char *[]){"the state of values", "v"}));
    for (int i = 0; i < 3; i++)
        if (!tsri_tensor_same_dim(v->dim[i], k->dim[i]) ||
            (i != 1 && !tsri_tensor_same_dim(s->in[VALUES]->dim[i], s->in[KEYS]->dim[i])))
            return tsri_graph_refuse("qkv_append", "v", v,
                                     "the sizes of k, and a state of the sizes of k's state");
    for (uint32_t i = PAST; i <= SLOT; i++)
        if (!tsri_graph_is_ints(tsri_graph_operand(s, i), k->dim[0]))
            return tsri_graph_refuse("qkv_append", tsri_graph_input_name(TSR_OP_QKV_APPEND, i),
                                     s->in[i], "i32 [B]");
    if (!tsri_graph_is_pages(tsri_graph_operand(s, PAGES), k->dim[0]))
        return tsri_graph_refuse("qkv_append", "pages", s->in[PAGES], "i32 [B,pages]");
    if (!tsri_graph_operand(s, SLOT) && !tsri_graph_operand(s, PAGES) &&
        !tsri_graph_has_rows(s->in[KEYS]->dim[0], k->dim[0]))
        return tsri_graph_refuse("qkv_append", "the state of keys", s->in[KEYS],
                                 "a slot for each of k's B sequences, or `slot` or `pages`");
    return tsri_graph_operand(s, Q) ? check_rope(s) : TSR_OK;
}

static void decompose(tsri_graph *graph, const tsri_graph_node *node, const tsri_value *in,
                      tsri_value *out) {
    tsri_value all[PAGES + 1];
    for (uint32_t i = 0; i <= PAGES; i++)
        all[i] = i < node->n_in ? in[i] : TSRI_GRAPH_NONE;
    tsri_value k = all[K];
    if (all[Q] != TSRI_GRAPH_NONE) {
        const tsri_value queries[] = {all[Q], all[POSITIONS], all[INV_FREQ]},
                         keys[] = {k, all[POSITIONS], all[INV_FREQ]};
        out[0] = tsri_graph_op1(graph, TSR_OP_ROPE, node->attrs, queries, 3);
        k = tsri_graph_op1(graph, TSR_OP_ROPE, node->attrs, keys, 3);
    }
    const tsri_value to_keys[] = {all[KEYS], k, all[PAST], all[LEN], all[SLOT], all[PAGES]},
                     to_values[] = {all[VALUES], all[V],    all[PAST],
                                    all[LEN],    all[SLOT], all[PAGES]};
    const uint32_t n = all[PAGES] == TSRI_GRAPH_NONE ? 5 : 6;
    tsri_graph_op(graph, TSR_OP_KV_APPEND, NULL, to_keys, n, 0, NULL);
    tsri_graph_op(graph, TSR_OP_KV_APPEND, NULL, to_values, n, 0, NULL);
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double k = tsri_graph_elements(op->in[K], sizes),
                 v = tsri_graph_elements(op->in[V], sizes);
    const tsr_tensor *query = op->n_in > Q ? op->in[Q] : NULL;
    const double q = query ? tsri_graph_elements(query, sizes) : 0;
    return (tsri_graph_cost){.flops = query ? 3 * (q + k) : 0, .bytes = 8 * (q + k + v)};
}

const tsri_graph_op_row tsri_graph_op_qkv_append = {.name = "qkv_append",
                                                    .id = TSR_OP_QKV_APPEND,
                                                    .attrs_size = sizeof(tsr_rope_attrs),
                                                    .infer = infer,
                                                    .decompose = decompose,
                                                    .cost = cost};
