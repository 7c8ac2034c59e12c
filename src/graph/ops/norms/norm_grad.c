/* graph/ops/norms/norm_grad.c - the op norm_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(norm_grad);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_norm_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[X], *addend = tsri_graph_operand(s, ADDEND);
    if (!tsri_graph_is_f32(x) || x->rank < 1)
        return tsri_graph_refuse("norm_grad", "x", x, "f32 [..,C]");
    if (!(attrs->eps >= 0) || attrs->norm > TSR_NORM_RMS)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "norm_grad: eps %g, norm %u; wanted eps >= 0, norm layer or rms",
                              (double)attrs->eps, attrs->norm);
    if (!tsri_graph_is_vector(s->in[WEIGHT], tsri_tensor_columns(x)))
        return tsri_graph_refuse("norm_grad", "weight", s->in[WEIGHT], "f32 [C]");
    if (!tsri_graph_is_f32(s->in[DY]) || !tsri_graph_same_shape(s->in[DY], x))
        return tsri_graph_refuse("norm_grad", "dy", s->in[DY], "f32 of the shape of x");
    if (addend && (!tsri_graph_is_f32(addend) || !tsri_graph_same_shape(addend, x)))
        return tsri_graph_refuse("norm_grad", "the addend", addend, "f32 of the shape of x");
    tsri_graph_shape_like(&s->out[DX], TSR_F32, x, tsri_tensor_columns(x));
    tsri_graph_shape_like(&s->out[STATS], TSR_F32, x, tsri_tensor_const(2));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 14 * tsri_graph_elements(op->in[X], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_norm_grad = {.name = "norm_grad",
                                                   .id = TSR_OP_NORM_GRAD,
                                                   .attrs_size = sizeof(tsr_norm_attrs),
                                                   .infer = infer,
                                                   .cost = cost};
