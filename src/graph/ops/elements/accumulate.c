/* graph/ops/elements/accumulate.c - the op accumulate: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(accumulate);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *state = s->in[STATE];
    if (!tsri_graph_is_f32(state))
        return tsri_graph_refuse("accumulate", "the state", state, "f32");
    if (!tsri_graph_is_like(s->in[X], state))
        return tsri_graph_refuse("accumulate", "x", s->in[X], "f32 of the state's shape");
    if (!tsri_graph_is_number(tsri_graph_operand(s, BETA)))
        return tsri_graph_refuse("accumulate", "beta", s->in[BETA], "f32 [1]");
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 2 * tsri_graph_elements(op->in[STATE], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_accumulate = {
    .name = "accumulate", .id = TSR_OP_ACCUMULATE, .infer = infer, .cost = cost};
