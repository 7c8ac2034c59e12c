/* graph/ops/reduce/sample.c - the op sample: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(sample);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *values = s->in[VALUES], *settings = s->in[SETTINGS];
    if (!tsri_graph_is_f32(values) || values->rank != 2 || values->dim[1].symbols ||
        values->dim[1].factor < 1)
        return tsri_graph_refuse("sample", "values", values, "f32 [R,k]");
    if (s->in[INDICES]->dtype != TSR_I32 || !tsri_graph_same_shape(s->in[INDICES], values))
        return tsri_graph_refuse("sample", "indices", s->in[INDICES], "i32 in values' shape");
    if (!tsri_graph_is_vector(s->in[RATE], values->dim[0]))
        return tsri_graph_refuse("sample", "rate", s->in[RATE], "f32, one for each row of values");
    if (settings->dtype != TSR_I32 || settings->rank != 2 ||
        !tsri_tensor_same_dim(settings->dim[0], values->dim[0]) ||
        !tsri_tensor_same_dim(settings->dim[1], tsri_tensor_const(4)))
        return tsri_graph_refuse("sample", "settings", settings,
                                 "i32 [R,4], a row for each row of values");
    tsri_graph_shape_of_rows(&s->out[Y], TSR_I32, values);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 40 * tsri_graph_elements(op->in[VALUES], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_sample = {
    .name = "sample", .id = TSR_OP_SAMPLE, .infer = infer, .cost = cost};
