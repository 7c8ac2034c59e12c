/* graph/ops/reduce/choose_experts.c - the op choose_experts: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(choose_experts);

static tsr_status check_groups(const tsr_choose_experts_attrs *attrs, int64_t E) {
    const int64_t groups = attrs->groups ? attrs->groups : 1,
                  used = attrs->groups_used ? attrs->groups_used : groups;
    if (E % groups != 0 || used > groups)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "choose_experts: %lld of %lld groups of %lld experts; wanted groups "
                              "that divide the experts, and at most all of them",
                              (long long)used, (long long)groups, (long long)E);
    if (attrs->by_two && E / groups < 2)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "choose_experts: groups of one expert have no two largest choices; "
                              "wanted groups of two or more, or by_two 0");
    if (attrs->k < 1 || attrs->k > used * (E / groups))
        return tsri_base_fail(TSR_E_ARGUMENT, "choose_experts: k is %u; wanted 1 to %lld", attrs->k,
                              (long long)(used * (E / groups)));
    return TSR_OK;
}

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_choose_experts_attrs *attrs = s->attrs;
    const tsr_tensor *scores = s->in[SCORES];
    if (!tsri_graph_is_f32(scores) || scores->rank != 2 || scores->dim[1].symbols)
        return tsri_graph_refuse("choose_experts", "scores", scores, "f32 [R,E]");
    if (!tsri_graph_is_vector(tsri_graph_operand(s, BIAS), scores->dim[1]))
        return tsri_graph_refuse("choose_experts", "bias", s->in[BIAS], "f32 [E]");
    TRY(check_groups(attrs, scores->dim[1].factor));
    for (int i = FACTORS; i <= EXPERTS; i++) {
        s->out[i].dtype = i == EXPERTS ? TSR_I32 : TSR_F32;
        s->out[i].rank = 2;
        s->out[i].dim[0] = scores->dim[0];
        s->out[i].dim[1] = tsri_tensor_const(attrs->k);
    }
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 2 * tsri_graph_elements(op->in[SCORES], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

/* The choice itself has no gradient, so neither has the bias. */
static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    tsri_graph *graph = tsri_graph_of(b);
    const bool shares = ((const tsr_choose_experts_attrs *)node->attrs)->shares;
    const tsri_value scores = node->in[SCORES], experts = node->out[EXPERTS], d = d_out[FACTORS];
    if (d == TSRI_GRAPH_NONE)
        return;
    tsri_graph_give(
        b, scores,
        shares
            ? tsri_graph_op1(graph, TSR_OP_CHOOSE_EXPERTS_GRAD, NULL,
                             (tsri_value[]){scores, experts, node->out[FACTORS], d}, 4)
            : tsri_graph_op1(graph, TSR_OP_TOPK_GRAD, NULL, (tsri_value[]){scores, experts, d}, 3));
}

const tsri_graph_op_row tsri_graph_op_choose_experts = {.name = "choose_experts",
                                                        .id = TSR_OP_CHOOSE_EXPERTS,
                                                        .attrs_size =
                                                            sizeof(tsr_choose_experts_attrs),
                                                        .infer = infer,
                                                        .gradient = gradient,
                                                        .cost = cost};
