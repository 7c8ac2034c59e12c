/* graph/ops/losses/kl_divergence.c - the op kl_divergence: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(kl_divergence);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_kl_divergence_attrs *attrs = s->attrs;
    const tsr_tensor *logits = s->in[LOGITS];
    if (!tsri_graph_is_f32(logits) || logits->rank < 2)
        return tsri_graph_refuse("kl_divergence", "logits", logits, "f32 [..,V]");
    if (!tsri_graph_is_by_row(tsri_graph_operand(s, TARGETS), TSR_I32, logits))
        return tsri_graph_refuse("kl_divergence", "targets", s->in[TARGETS],
                                 "i32, one for each row of logits");
    if (!tsri_graph_is_like(tsri_graph_operand(s, TEACHER), logits))
        return tsri_graph_refuse("kl_divergence", "teacher", s->in[TEACHER],
                                 "f32 of the shape of logits");
    TRY(tsri_graph_check_divergence("kl_divergence", attrs,
                                    tsri_graph_operand(s, TEACHER) != NULL));
    tsri_graph_shape_of_rows(&s->out[LOSS], TSR_F32, logits);
    return TSR_OK;
}

/* d_out[LOSS] is one number for all rows. The teacher gets no gradient. */
static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsri_value logits = node->in[LOGITS];
    if (node->n_in > TEACHER && tsri_graph_wants(b, node->in[TEACHER]))
        tsri_graph_fail(tsri_graph_of(b), TSR_E_UNSUPPORTED,
                        "kl_divergence: the gradient of the teacher's logits is not supported");
    if (!tsri_graph_wants(b, logits))
        return;
    const tsri_value in[] = {logits, node->n_in > TARGETS ? node->in[TARGETS] : TSRI_GRAPH_NONE,
                             node->n_in > TEACHER ? node->in[TEACHER] : TSRI_GRAPH_NONE,
                             d_out[LOSS], tsri_graph_take(b, logits)};
    tsri_graph_give(
        b, logits, tsri_graph_op1(tsri_graph_of(b), TSR_OP_KL_DIVERGENCE_GRAD, node->attrs, in, 5));
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 16 * tsri_graph_elements(op->in[LOGITS], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_kl_divergence = {.name = "kl_divergence",
                                                       .id = TSR_OP_KL_DIVERGENCE,
                                                       .attrs_size =
                                                           sizeof(tsr_kl_divergence_attrs),
                                                       .infer = infer,
                                                       .gradient = gradient,
                                                       .one_seed = true,
                                                       .cost = cost};
