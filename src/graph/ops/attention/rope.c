/* graph/ops/attention/rope.c - the op rope: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(rope);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_rope_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[X], *positions = s->in[POSITIONS];
    if (!tsri_graph_is_f32(x) || x->rank != 4 || x->dim[3].symbols)
        return tsri_graph_refuse("rope", "x", x, "f32 [B,T,H,D]");
    if (attrs->rotary % 2 || attrs->rotary > x->dim[3].factor)
        return tsri_base_fail(
            TSR_E_ARGUMENT,
            "rope: %u rotary elements; wanted an even number up to the head size %lld",
            attrs->rotary, (long long)x->dim[3].factor);
    if (positions->dtype != TSR_I32 || positions->rank != 2 ||
        !tsri_tensor_same_dim(positions->dim[0], x->dim[0]) ||
        !tsri_tensor_same_dim(positions->dim[1], x->dim[1]))
        return tsri_graph_refuse("rope", "positions", positions, "i32 [B,T]");
    if (!tsri_graph_is_vector(s->in[INV_FREQ], tsri_tensor_const(attrs->rotary / 2)))
        return tsri_graph_refuse("rope", "inv_freq", s->in[INV_FREQ], "f32 [rotary/2]");
    tsri_graph_shape_like(&s->out[Y], TSR_F32, x, x->dim[3]);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 3 * tsri_graph_elements(op->out[Y], sizes),
                             .bytes = 8 * tsri_graph_elements(op->out[Y], sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    tsr_rope_attrs attrs = *(const tsr_rope_attrs *)node->attrs;
    const tsri_value in[] = {d_out[Y], node->in[POSITIONS], node->in[INV_FREQ]};
    if (tsri_graph_wants(b, node->in[INV_FREQ]))
        tsri_graph_fail(tsri_graph_of(b), TSR_E_UNSUPPORTED,
                        "rope: the gradient of inv_freq is not supported");
    attrs.inverse = !attrs.inverse;
    tsri_graph_give(b, node->in[X], tsri_graph_op1(tsri_graph_of(b), TSR_OP_ROPE, &attrs, in, 3));
}

const tsri_graph_op_row tsri_graph_op_rope = {.name = "rope",
                                              .id = TSR_OP_ROPE,
                                              .attrs_size = sizeof(tsr_rope_attrs),
                                              .infer = infer,
                                              .gradient = gradient,
                                              .cost = cost};
