/* graph/ops/norms/rms_norm.c - the op rms_norm: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(rms_norm);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_norm_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[X];
    if (!tsri_graph_is_f32(x) || x->rank < 1)
        return tsri_graph_refuse("rms_norm", "x", x, "f32 [..,C]");
    if (!(attrs->eps >= 0))
        return tsri_base_fail(TSR_E_ARGUMENT, "rms_norm: eps is %g; wanted 0 or more",
                              (double)attrs->eps);
    if (!tsri_graph_is_vector(s->in[WEIGHT], tsri_tensor_columns(x)))
        return tsri_graph_refuse("rms_norm", "weight", s->in[WEIGHT], "f32 [C]");
    tsri_graph_shape_like(&s->out[Y], TSR_F32, x, tsri_tensor_columns(x));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 4 * tsri_graph_elements(op->in[X], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    tsri_graph_give(b, node->in[X],
                    tsri_graph_norm_gradient(b, TSR_NORM_RMS, node->attrs, node->in[X],
                                             node->in[WEIGHT], TSRI_GRAPH_NONE, d_out[Y],
                                             tsri_graph_take(b, node->in[X])));
}

const tsri_graph_op_row tsri_graph_op_rms_norm = {.name = "rms_norm",
                                                  .id = TSR_OP_RMS_NORM,
                                                  .attrs_size = sizeof(tsr_norm_attrs),
                                                  .infer = infer,
                                                  .gradient = gradient,
                                                  .cost = cost};
