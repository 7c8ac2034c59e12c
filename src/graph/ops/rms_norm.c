/* graph/ops/rms_norm.c - the op rms_norm: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_norm_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[0];
    if (!tsri_graph_is_f32(x) || x->rank < 1)
        return tsri_graph_refuse("rms_norm", "x", x, "f32 [..,C]");
    if (!(attrs->eps >= 0))
        return tsri_base_fail(TSR_E_ARGUMENT, "rms_norm: eps is %g; wanted 0 or more",
                              (double)attrs->eps);
    for (uint32_t i = 1; i < 2; i++)
        if (!tsri_graph_is_vector(tsri_graph_operand(s, i), tsri_tensor_columns(x)))
            return tsri_graph_refuse("rms_norm", "weight", s->in[i], "f32 [C]");
    tsri_graph_shape_like(&s->out[0], TSR_F32, x, tsri_tensor_columns(x));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 4 * tsri_graph_elements(op->in[0], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsri_value bias = node->n_in > 2 ? node->in[2] : TSRI_GRAPH_NONE;
    tsri_graph_give(b, node->in[0],
                    tsri_graph_norm_gradient(b, TSR_NORM_RMS, node->attrs, node->in[0], node->in[1],
                                             bias, d_out[0], tsri_graph_take(b, node->in[0])));
}

const tsri_graph_op_row tsri_graph_op_rms_norm = {.name = "rms_norm",
                                                  .id = TSR_OP_RMS_NORM,
                                                  .min_in = 2,
                                                  .max_in = 2,
                                                  .n_out = 1,
                                                  .may_overwrite = 1,
                                                  .attrs_size = sizeof(tsr_norm_attrs),
                                                  .infer = infer,
                                                  .gradient = gradient,
                                                  .cost = cost};
