/* graph/ops/losses/kl_divergence_grad.c - the op kl_divergence_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(kl_divergence_grad);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_kl_divergence_attrs *attrs = s->attrs;
    const tsr_tensor *logits = s->in[LOGITS];
    if (!tsri_graph_is_f32(logits) || logits->rank < 2)
        return tsri_graph_refuse("kl_divergence_grad", "logits", logits, "f32 [..,V]");
    if (!tsri_graph_is_by_row(s->in[TARGETS], TSR_I32, logits))
        return tsri_graph_refuse("kl_divergence_grad", "targets", s->in[TARGETS],
                                 "i32, one for each row of logits");
    if (!tsri_graph_is_like(s->in[TEACHER], logits))
        return tsri_graph_refuse("kl_divergence_grad", "teacher", s->in[TEACHER],
                                 "f32 of the shape of logits");
    if (!tsri_graph_is_number(s->in[SCALE]))
        return tsri_graph_refuse("kl_divergence_grad", "scale", s->in[SCALE], "f32 [1]");
    if (!tsri_graph_is_like(tsri_graph_operand(s, ADDEND), logits))
        return tsri_graph_refuse("kl_divergence_grad", "addend", s->in[ADDEND],
                                 "f32 of the shape of logits");
    TRY(tsri_graph_check_divergence("kl_divergence_grad", attrs, s->in[TEACHER] != NULL));
    tsri_graph_shape_like(&s->out[DLOGITS], TSR_F32, logits, tsri_tensor_columns(logits));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 20 * tsri_graph_elements(op->in[LOGITS], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_kl_divergence_grad = {.name = "kl_divergence_grad",
                                                            .id = TSR_OP_KL_DIVERGENCE_GRAD,
                                                            .attrs_size =
                                                                sizeof(tsr_kl_divergence_attrs),
                                                            .infer = infer,
                                                            .cost = cost};
