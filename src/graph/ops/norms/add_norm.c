/* graph/ops/norms/add_norm.c - the op add_norm: its shapes, the simpler ops that replace it, its
 * gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(add_norm);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_norm_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[X], *residual = s->in[RESIDUAL];
    bool same = tsri_graph_is_f32(x) && tsri_graph_is_f32(residual) && x->rank >= 1 &&
                x->rank == residual->rank;
    for (uint32_t i = 0; same && i < x->rank; i++)
        same = tsri_tensor_same_dim(x->dim[i], residual->dim[i]);
    if (!same)
        return tsri_graph_refuse("add_norm", "the residual", residual, "f32 of the shape of x");
    if (!(attrs->eps >= 0) || attrs->norm > TSR_NORM_RMS)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "add_norm: eps %g, norm %u; wanted eps >= 0, norm layer or rms",
                              (double)attrs->eps, attrs->norm);
    for (uint32_t i = WEIGHT; i <= BIAS; i++)
        if (!tsri_graph_is_vector(tsri_graph_operand(s, i), tsri_tensor_columns(x)))
            return tsri_graph_refuse("add_norm", tsri_graph_input_name(TSR_OP_ADD_NORM, i),
                                     s->in[i], "f32 [C]");
    for (int i = SUM; i <= Y; i++)
        tsri_graph_shape_like(&s->out[i], TSR_F32, x, tsri_tensor_columns(x));
    return TSR_OK;
}

static void decompose(tsri_graph *graph, const tsri_graph_node *node, const tsri_value *in,
                      tsri_value *out) {
    const tsr_norm_attrs *attrs = node->attrs;
    out[SUM] = tsri_graph_op1(graph, TSR_OP_ADD, NULL, in, 2);
    const tsri_value operands[] = {out[SUM], in[WEIGHT],
                                   node->n_in > BIAS ? in[BIAS] : TSRI_GRAPH_NONE};
    const bool rms = attrs->norm == TSR_NORM_RMS;
    out[Y] = tsri_graph_op1(graph, rms ? TSR_OP_RMS_NORM : TSR_OP_LAYER_NORM, attrs, operands,
                            rms ? 2 : 3);
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 9 * tsri_graph_elements(op->in[X], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsr_norm_attrs *attrs = node->attrs;
    const tsri_value bias = node->n_in > BIAS ? node->in[BIAS] : TSRI_GRAPH_NONE;
    tsri_value d = d_out[SUM];
    if (d_out[Y] != TSRI_GRAPH_NONE)
        d = tsri_graph_norm_gradient(b, (tsr_norm)attrs->norm, attrs, node->out[SUM],
                                     node->in[WEIGHT], bias, d_out[Y], d);
    tsri_graph_give(b, node->in[X], d);
    tsri_graph_give(b, node->in[RESIDUAL], d);
}

const tsri_graph_op_row tsri_graph_op_add_norm = {.name = "add_norm",
                                                  .id = TSR_OP_ADD_NORM,
                                                  .attrs_size = sizeof(tsr_norm_attrs),
                                                  .infer = infer,
                                                  .decompose = decompose,
                                                  .gradient = gradient,
                                                  .cost = cost};
