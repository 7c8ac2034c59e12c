/* graph/ops/activation_grad.c - the op activation_grad: its shapes and its cost. */
#include "graph/ops/check.h"

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_activation_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[0];
    if (!tsri_graph_is_f32(x))
        return tsri_graph_refuse("activation_grad", "x", x, "f32");
    if (!tsri_graph_is_like(s->in[1], x))
        return tsri_graph_refuse("activation_grad", "dy", s->in[1], "f32 of x's shape");
    TRY(tsri_graph_check_activation("activation_grad", attrs->activation));
    tsri_graph_shape_like(&s->out[0], TSR_F32, x, tsri_tensor_columns(x));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 16 * tsri_graph_elements(op->in[0], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_activation_grad = {.name = "activation_grad",
                                                         .id = TSR_OP_ACTIVATION_GRAD,
                                                         .min_in = 2,
                                                         .max_in = 2,
                                                         .n_out = 1,
                                                         .may_overwrite = 1 | 2,
                                                         .attrs_size = sizeof(tsr_activation_attrs),
                                                         .infer = infer,
                                                         .cost = cost};
