/* graph/ops/attention/kv_append.c - the op kv_append: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(kv_append);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *state = s->in[STATE], *x = s->in[X];
    if (state->rank != 4 || !tsri_graph_is_kv(state))
        return tsri_graph_refuse("kv_append", "the state", state,
                                 "f32, f16, bf16 or, where D is a multiple of 32, q8_0 "
                                 "[slots,G,capacity,D]");
    if (x->rank != 4 || !tsri_graph_is_f32(x) || !tsri_tensor_same_dim(x->dim[2], state->dim[1]) ||
        !tsri_tensor_same_dim(x->dim[3], state->dim[3]))
        return tsri_graph_refuse("kv_append", "x", x, "f32 [B,T,G,D] with the state's G and D");
    for (uint32_t i = PAST; i <= SLOT; i++)
        if (!tsri_graph_is_ints(tsri_graph_operand(s, i), x->dim[0]))
            return tsri_graph_refuse("kv_append", tsri_graph_input_name(TSR_OP_KV_APPEND, i),
                                     s->in[i], "i32 [B]");
    if (!tsri_graph_is_pages(tsri_graph_operand(s, PAGES), x->dim[0]))
        return tsri_graph_refuse("kv_append", "pages", s->in[PAGES], "i32 [B,pages]");
    if (!tsri_graph_operand(s, SLOT) && !tsri_graph_operand(s, PAGES) &&
        !tsri_graph_has_rows(state->dim[0], x->dim[0]))
        return tsri_graph_refuse("kv_append", "the state", state,
                                 "a slot for each of x's B sequences, or `slot` or `pages`");
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.bytes = 8 * tsri_graph_elements(op->in[X], sizes)};
}

const tsri_graph_op_row tsri_graph_op_kv_append = {
    .name = "kv_append", .id = TSR_OP_KV_APPEND, .infer = infer, .cost = cost};
