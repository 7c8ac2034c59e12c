/* graph/ops/kl_divergence_grad.c - the op kl_divergence_grad: its shapes and its cost. */
#include "graph/ops/check.h"

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_kl_divergence_attrs *attrs = s->attrs;
    const tsr_tensor *logits = s->in[0];
    if (!tsri_graph_is_f32(logits) || logits->rank < 2)
        return tsri_graph_refuse("kl_divergence_grad", "logits", logits, "f32 [..,V]");
    if (!tsri_graph_is_by_row(s->in[1], TSR_I32, logits))
        return tsri_graph_refuse("kl_divergence_grad", "targets", s->in[1],
                                 "i32, one for each row of logits");
    if (!tsri_graph_is_like(s->in[2], logits))
        return tsri_graph_refuse("kl_divergence_grad", "teacher", s->in[2],
                                 "f32 of the shape of logits");
    if (!tsri_graph_is_number(s->in[3]))
        return tsri_graph_refuse("kl_divergence_grad", "scale", s->in[3], "f32 [1]");
    if (!tsri_graph_is_like(tsri_graph_operand(s, 4), logits))
        return tsri_graph_refuse("kl_divergence_grad", "addend", s->in[4],
                                 "f32 of the shape of logits");
    TRY(tsri_graph_check_divergence("kl_divergence_grad", attrs, s->in[2] != NULL));
    tsri_graph_shape_like(&s->out[0], TSR_F32, logits, tsri_tensor_columns(logits));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 20 * tsri_graph_elements(op->in[0], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_kl_divergence_grad = {.name = "kl_divergence_grad",
                                                            .id = TSR_OP_KL_DIVERGENCE_GRAD,
                                                            .min_in = 4,
                                                            .max_in = 5,
                                                            .n_out = 1,
                                                            .optional_in = 2 | 4 | 16,
                                                            .may_overwrite = 1 | 16,
                                                            .attrs_size =
                                                                sizeof(tsr_kl_divergence_attrs),
                                                            .infer = infer,
                                                            .cost = cost};
