/* graph/ops/elements/activation_grad.c - the op activation_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(activation_grad);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_activation_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[X];
    if (!tsri_graph_is_f32(x))
        return tsri_graph_refuse("activation_grad", "x", x, "f32");
    if (!tsri_graph_is_like(s->in[DY], x))
        return tsri_graph_refuse("activation_grad", "dy", s->in[DY], "f32 of x's shape");
    TRY(tsri_graph_check_activation("activation_grad", attrs->activation));
    tsri_graph_shape_like(&s->out[DX], TSR_F32, x, tsri_tensor_columns(x));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 16 * tsri_graph_elements(op->in[X], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_activation_grad = {.name = "activation_grad",
                                                         .id = TSR_OP_ACTIVATION_GRAD,
                                                         .attrs_size = sizeof(tsr_activation_attrs),
                                                         .infer = infer,
                                                         .cost = cost};
