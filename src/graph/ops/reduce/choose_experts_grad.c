/* graph/ops/reduce/choose_experts_grad.c - the op choose_experts_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(choose_experts_grad);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *scores = s->in[SCORES], *experts = s->in[EXPERTS];
    if (!tsri_graph_is_f32(scores) || scores->rank != 2 || scores->dim[1].symbols)
        return tsri_graph_refuse("choose_experts_grad", "scores", scores, "f32 [R,E]");
    if (experts->dtype != TSR_I32 || experts->rank != 2 ||
        !tsri_tensor_same_dim(experts->dim[0], scores->dim[0]))
        return tsri_graph_refuse("choose_experts_grad", "experts", experts,
                                 "i32 [R,k] with the scores' R");
    for (uint32_t i = FACTORS; i <= DFACTORS; i++)
        if (!tsri_graph_is_like(s->in[i], experts))
            return tsri_graph_refuse("choose_experts_grad",
                                     tsri_graph_input_name(TSR_OP_CHOOSE_EXPERTS_GRAD, i), s->in[i],
                                     "f32 of the experts' shape");
    tsri_graph_shape_like(&s->out[DSCORES], TSR_F32, scores, tsri_tensor_columns(scores));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double chosen = tsri_graph_elements(op->in[EXPERTS], sizes);
    return (tsri_graph_cost){.flops = 5 * chosen,
                             .bytes =
                                 4 * (tsri_graph_elements(op->out[DSCORES], sizes) + 4 * chosen)};
}

const tsri_graph_op_row tsri_graph_op_choose_experts_grad = {
    .name = "choose_experts_grad", .id = TSR_OP_CHOOSE_EXPERTS_GRAD, .infer = infer, .cost = cost};
