/* graph/ops/reduce/sum_rows.c - the op sum_rows: its shapes and its cost. */
#include "graph/ops/check.h"

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *x = s->in[0];
    if (!tsri_graph_is_f32(x) || x->rank < 1)
        return tsri_graph_refuse("sum_rows", "x", x, "f32 [..,C]");
    s->out[0].dtype = TSR_F32;
    s->out[0].rank = 1;
    s->out[0].dim[0] = tsri_tensor_columns(x);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = tsri_graph_elements(op->in[0], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_sum_rows = {
    .name = "sum_rows", .id = TSR_OP_SUM_ROWS, .infer = infer, .cost = cost};
