/* graph/ops/losses/cross_entropy.c - the op cross_entropy: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(cross_entropy);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_cross_entropy_attrs *attrs = s->attrs;
    const tsr_tensor *logits = s->in[LOGITS];
    if (!tsri_graph_is_f32(logits) || logits->rank < 2)
        return tsri_graph_refuse("cross_entropy", "logits", logits, "f32 [..,V]");
    if (!tsri_graph_is_by_row(s->in[TARGETS], TSR_I32, logits))
        return tsri_graph_refuse("cross_entropy", "targets", s->in[TARGETS],
                                 "i32, one for each row of logits");
    TRY(tsri_graph_check_loss("cross_entropy", attrs->ignore, attrs->label_smoothing));
    tsri_graph_shape_of_rows(&s->out[LOSS], TSR_F32, logits);
    tsri_graph_shape_of_rows(&s->out[LSE], TSR_F32, logits);
    return TSR_OK;
}

/* d_out[LOSS] is one number for all rows. */
static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsri_value logits = node->in[LOGITS];
    if (d_out[LSE] != TSRI_GRAPH_NONE)
        tsri_graph_fail(tsri_graph_of(b), TSR_E_UNSUPPORTED,
                        "cross_entropy: the gradient of the log-sum-exp is not supported");
    if (!tsri_graph_wants(b, logits))
        return;
    const tsri_value in[] = {logits, node->in[TARGETS], node->out[LSE], d_out[LOSS],
                             tsri_graph_take(b, logits)};
    tsri_graph_give(
        b, logits, tsri_graph_op1(tsri_graph_of(b), TSR_OP_CROSS_ENTROPY_GRAD, node->attrs, in, 5));
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 8 * tsri_graph_elements(op->in[LOGITS], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_cross_entropy = {.name = "cross_entropy",
                                                       .id = TSR_OP_CROSS_ENTROPY,
                                                       .attrs_size =
                                                           sizeof(tsr_cross_entropy_attrs),
                                                       .infer = infer,
                                                       .gradient = gradient,
                                                       .one_seed = true,
                                                       .cost = cost};
