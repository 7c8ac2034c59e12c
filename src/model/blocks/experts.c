/* model/blocks/experts.c - a feed-forward part of experts: the router chooses some of them for each token,
 * and their results are added up with the router's factors. */
#include "model/blocks/builder.h"

#include "tensor/shape.h"

typedef tsri_model_builder builder;

static tsri_value reshaped(builder *b, tsri_value x, tsr_dim rows, int64_t middle,
                           int64_t columns) {
    const tsr_dim dims[] = {rows, tsri_tensor_const(middle), tsri_tensor_const(columns)};
    return tsri_graph_reshape(b->graph, x, 3, dims);
}

/* act(x w + bias) in f32: what is near a tie must not depend on how other products are formed. */
static tsri_value routed(builder *b, tsri_value x, tsri_value w, tsri_value bias,
                         tsr_activation activation) {
    const tsr_linear_attrs attrs = {
        .struct_size = sizeof attrs, .trans_w = 1, .activation = activation};
    return tsri_graph_op1(b->graph, TSR_OP_LINEAR, &attrs, (tsri_value[]){x, w, bias}, 3);
}

/* The experts of each row by its scores [R,E], as the op choose_experts takes them: the factors [R,J], and the
 * experts [R,J] i32. */
static void choose(builder *b, int32_t layer, tsri_value scores, tsri_value chosen[2]) {
    const tsri_model_stack *stack = b->stack;
    const tsr_choose_experts_attrs attrs = {.struct_size = sizeof attrs,
                                            .k = (uint32_t)stack->experts_used,
                                            .groups = (uint32_t)stack->expert_groups,
                                            .groups_used = (uint32_t)stack->expert_groups_used,
                                            .by_two = stack->experts_biased,
                                            .shares = stack->experts_normed};
    const tsri_value in[] = {
        scores,
        tsri_model_weight_leaf(b, tsri_model_builder_weight(b, layer, TSRI_ROLE_CHOICE_BIAS))};
    tsri_graph_op(b->graph, TSR_OP_CHOOSE_EXPERTS, &attrs, in, 2, 0, chosen);
}

/* The experts of each row, [R,J] i32, and their factors, [R,1,J]. */
static tsri_value route(builder *b, int32_t layer, tsri_value x, tsr_dim rows,
                        tsri_value *experts) {
    const tsri_model_stack *stack = b->stack;
    const bool scored = stack->experts_scored, sigmoid = scored && stack->experts_sigmoid,
               late = !scored && stack->experts_normed; /* the softmax, after the choice */
    const tsr_softmax_attrs softmax = {.struct_size = sizeof softmax};
    const tsr_topk_attrs attrs = {.struct_size = sizeof attrs, .k = (uint32_t)stack->experts_used};
    const tsr_dim matrix[] = {rows, tsri_tensor_const(stack->experts)};
    const uint32_t router = tsri_model_builder_weight(b, layer, TSRI_ROLE_ROUTER);
    tsri_value chosen[3]; /* values, ids, and of topk the log-sum-exp */
    tsri_value scores = reshaped(b,
                                 routed(b, x, tsri_model_weight_leaf(b, router),
                                        tsri_model_weight_leaf(b, router + 1),
                                        sigmoid ? TSR_ACT_SIGMOID : TSR_ACT_NONE),
                                 rows, 1, stack->experts);
    if (!sigmoid && !late)
        scores = tsri_graph_op1(b->graph, TSR_OP_SOFTMAX, &softmax, &scores, 1);
    scores = tsri_graph_reshape(b->graph, scores, 2, matrix);
    if (scored)
        choose(b, layer, scores, chosen);
    else
        tsri_graph_op(b->graph, TSR_OP_TOPK, &attrs, &scores, 1, 0, chosen);
    *experts = chosen[1];
    /* A softmax of the chosen ones' logits is that of all of them, divided by their sum. */
    const tsri_value factors = reshaped(b, chosen[0], rows, 1, stack->experts_used);
    return late ? tsri_graph_op1(b->graph, TSR_OP_SOFTMAX, &softmax, &factors, 1) : factors;
}

/* The biases of all experts, [E,N]; NONE: there are none. */
static tsri_value biases(builder *b, uint32_t id) {
    const tsri_value all = tsri_model_weight_leaf(b, id);
    if (all == TSRI_GRAPH_NONE)
        return all;
    const int64_t E = b->stack->experts, N = tsri_model_weight_at(b->weights, id)->dims[0] / E;
    return tsri_graph_reshape(b->graph, all, 2,
                              (tsr_dim[]){tsri_tensor_const(E), tsri_tensor_const(N)});
}

/* The products of x [R,1|J,K] with the experts' matrix `role`, [R,J,N]. */
static tsri_value product(builder *b, int32_t layer, tsri_value x, tsri_value experts,
                          tsri_model_role role, bool gated) {
    const uint32_t id = tsri_model_builder_weight(b, layer, role);
    const tsri_model_weight *w = tsri_model_weight_at(b->weights, id);
    const int64_t E = b->stack->experts;
    const tsr_linear_attrs plain = {
        .struct_size = sizeof plain, .trans_w = 1, .compute = tsri_model_products(b, id)};
    const tsr_glu_linear_attrs attrs = {.struct_size = sizeof attrs,
                                        .trans_w = 1,
                                        .activation = b->stack->activation,
                                        .compute = plain.compute,
                                        .limit = b->stack->gate_limit,
                                        .alpha = b->stack->gate_alpha,
                                        .shift = b->stack->gate_shift};
    const tsri_value in[] = {x,
                             reshaped(b, tsri_model_weight_leaf(b, id), tsri_tensor_const(E),
                                      w->dims[0] / E, w->dims[1]),
                             experts, biases(b, id + 1)};
    return gated ? tsri_graph_op1(b->graph, TSR_OP_EXPERT_GLU_LINEAR, &attrs, in, 4)
                 : tsri_graph_op1(b->graph, TSR_OP_EXPERT_LINEAR, &plain, in, 4);
}

/* factors [R,1,J] times rows [R,J,C], in the shape of `like`. */
static tsri_value summed(builder *b, tsri_value factors, tsri_value rows, tsri_value like) {
    const tsr_matmul_attrs attrs = {.struct_size = sizeof attrs};
    const tsr_tensor shape = tsri_graph_value_at(b->graph, like)->tensor; /* ops move the values */
    const tsri_value y =
        tsri_graph_op1(b->graph, TSR_OP_MATMUL, &attrs, (tsri_value[]){factors, rows}, 2);
    return tsri_graph_reshape(b->graph, y, shape.rank, shape.dim);
}

/* The sum of y and the expert that every token takes, whose result is `shared`. */
static tsri_value with_shared(builder *b, int32_t layer, tsri_value x, tsr_dim rows, tsri_value y,
                              tsri_value shared) {
    const int64_t C = b->spec->width;
    if (b->stack->shared_gated) {
        tsri_model_stage(b, layer, "shared_router");
        const tsr_dim one_row[] = {tsri_tensor_const(1), tsri_tensor_const(C)};
        const tsri_value vector =
            tsri_model_weight_leaf(b, tsri_model_builder_weight(b, layer, TSRI_ROLE_SHARED_ROUTER));
        const tsri_value factor = routed(b, x, tsri_graph_reshape(b->graph, vector, 2, one_row),
                                         TSRI_GRAPH_NONE, TSR_ACT_SIGMOID);
        shared = summed(b, reshaped(b, factor, rows, 1, 1), reshaped(b, shared, rows, 1, C), x);
    }
    tsri_model_stage(b, layer, "shared");
    return tsri_graph_op1(b->graph, TSR_OP_ADD, NULL, (tsri_value[]){y, shared}, 2);
}

tsri_value tsri_model_experts(builder *b, int32_t layer, tsri_value x, tsri_value shared) {
    if (tsri_graph_status(b->graph) != TSR_OK)
        return TSRI_GRAPH_NONE;
    const tsr_dim rows = tsri_tensor_rows(&tsri_graph_value_at(b->graph, x)->tensor);
    tsri_value experts;
    tsri_model_stage(b, layer, "router");
    const tsri_value factors =
        tsri_model_scaled(b, route(b, layer, x, rows, &experts), b->stack->experts_scale);
    tsri_model_stage(b, layer, "experts_up");
    const tsri_value inner = product(b, layer, reshaped(b, x, rows, 1, b->spec->width), experts,
                                     TSRI_ROLE_EXPERTS_UP, true);
    tsri_model_stage(b, layer, "experts_down");
    const tsri_value outer = product(b, layer, inner, experts, TSRI_ROLE_EXPERTS_DOWN, false);
    tsri_model_stage(b, layer, "experts_sum");
    const tsri_value y = summed(b, factors, outer, x);
    return shared == TSRI_GRAPH_NONE ? y : with_shared(b, layer, x, rows, y, shared);
}
