/* graph/ops/lookup/concat.c - the op concat: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(concat);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *first = s->in[X0];
    tsr_dim columns = tsri_tensor_const(0);
    for (uint32_t i = 0; i < s->n_in; i++) {
        const tsr_tensor *x = s->in[i];
        bool alike = tsri_graph_is_f32(x) && x->rank >= 1 && x->rank == first->rank &&
                     !tsri_tensor_columns(x).symbols;
        for (uint32_t d = 0; alike && d + 1 < x->rank; d++)
            alike = tsri_tensor_same_dim(x->dim[d], first->dim[d]);
        if (!alike)
            return tsri_graph_refuse("concat", "x", x,
                                     "f32 [..,C] with the leading sizes of the first, C constant");
        columns.factor += tsri_tensor_columns(x).factor;
    }
    tsri_graph_shape_like(&s->out[Y], TSR_F32, first, columns);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.bytes = tsri_graph_bytes(op, sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    tsri_graph *graph = tsri_graph_of(b);
    int64_t first = 0;
    for (uint32_t i = 0; i < node->n_in && tsri_graph_status(graph) == TSR_OK; i++) {
        const tsr_tensor *x = &tsri_graph_value_at(graph, node->in[i])->tensor;
        const uint32_t axis = x->rank - 1;
        const int64_t n = x->dim[axis].factor;
        tsri_graph_give(b, node->in[i], tsri_graph_slice(graph, d_out[Y], axis, first, n));
        first += n;
    }
}

const tsri_graph_op_row tsri_graph_op_concat = {
    .name = "concat", .id = TSR_OP_CONCAT, .infer = infer, .gradient = gradient, .cost = cost};
