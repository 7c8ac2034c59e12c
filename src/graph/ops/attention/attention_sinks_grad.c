/* graph/ops/attention/attention_sinks_grad.c - the op attention_sinks_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(attention_sinks_grad);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *y = s->in[Y], *lse = s->in[LSE], *dy = s->in[DY];
    if (!tsri_graph_is_f32(y) || y->rank != 4)
        return tsri_graph_refuse("attention_sinks_grad", "y", y, "f32 [B,T,H,Dv]");
    if (!tsri_graph_is_vector(s->in[SINKS], y->dim[2]))
        return tsri_graph_refuse("attention_sinks_grad", "sinks", s->in[SINKS],
                                 "f32 [H] with y's H");
    if (!tsri_graph_is_f32(lse) || lse->rank != 3 ||
        !tsri_tensor_same_dim(lse->dim[0], y->dim[0]) ||
        !tsri_tensor_same_dim(lse->dim[1], y->dim[2]) ||
        !tsri_tensor_same_dim(lse->dim[2], y->dim[1]))
        return tsri_graph_refuse("attention_sinks_grad", "lse", lse,
                                 "f32 [B,H,T] with y's B, H and T");
    if (!tsri_graph_is_like(dy, y))
        return tsri_graph_refuse("attention_sinks_grad", "dy", dy, "f32 of the shape of y");
    for (uint32_t i = PAST; i <= LEN; i++)
        if (!tsri_graph_is_ints(tsri_graph_operand(s, i), y->dim[0]))
            return tsri_graph_refuse("attention_sinks_grad",
                                     tsri_graph_input_name(TSR_OP_ATTENTION_SINKS_GRAD, i),
                                     s->in[i], "i32 [B]");
    tsri_graph_shape_of_rows(&s->out[DSINKS], TSR_F32, y);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 2 * tsri_graph_elements(op->in[Y], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_attention_sinks_grad = {.name = "attention_sinks_grad",
                                                              .id = TSR_OP_ATTENTION_SINKS_GRAD,
                                                              .attrs_size =
                                                                  sizeof(tsr_attention_attrs),
                                                              .infer = infer,
                                                              .cost = cost};
