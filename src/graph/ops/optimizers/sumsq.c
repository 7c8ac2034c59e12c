/* graph/ops/optimizers/sumsq.c - the op sumsq: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(sumsq);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_sumsq_attrs *attrs = s->attrs;
    const tsr_tensor *sums = s->in[SUMS], *x = s->in[X];
    if (!tsri_graph_is_f32(sums))
        return tsri_graph_refuse("sumsq", "sums", sums, "f32");
    if (!tsri_graph_is_f32(x) || !tsri_tensor_is_packed(x))
        return tsri_graph_refuse("sumsq", "x", x, "f32, packed");
    const tsr_dim room = tsri_tensor_count(sums);
    if (attrs->parts < 1 || (int64_t)attrs->first + attrs->parts > room.factor)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sumsq: %u parts from place %u on; at least 1 part is needed, and "
                              "the state has %lld places",
                              attrs->parts, attrs->first, (long long)room.factor);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double n = tsri_graph_elements(op->in[X], sizes);
    return (tsri_graph_cost){.flops = 2 * n, .bytes = 4 * n};
}

const tsri_graph_op_row tsri_graph_op_sumsq = {.name = "sumsq",
                                               .id = TSR_OP_SUMSQ,
                                               .attrs_size = sizeof(tsr_sumsq_attrs),
                                               .infer = infer,
                                               .cost = cost};
