/* graph/ops/elements/copy.c - the op copy: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

static tsr_status infer(tsri_graph_signature *s) {
    if (!tsri_graph_is_numbers(s->in[0]))
        return tsri_graph_refuse("copy", "x", s->in[0],
                                 "numbers; cast blocks of q8_0 to f32 first, and read the rows of "
                                 "others with embed");
    tsri_graph_shape_like(&s->out[0], (tsr_dtype)s->in[0]->dtype, s->in[0],
                          tsri_tensor_columns(s->in[0]));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.bytes = tsri_graph_bytes(op, sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    tsri_graph_give(b, node->in[0], d_out[0]);
}

const tsri_graph_op_row tsri_graph_op_copy = {
    .name = "copy", .id = TSR_OP_COPY, .infer = infer, .gradient = gradient, .cost = cost};
