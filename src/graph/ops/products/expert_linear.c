/* graph/ops/products/expert_linear.c - the ops expert_linear and expert_glu_linear: their shapes, their
 * gradients and their cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(expert_linear); /* expert_glu_linear has the same */

/* Checks what both ops have in common; *n becomes the outputs of an expert. */
static tsr_status check(const char *op, const tsri_graph_signature *s, tsr_dim *n) {
    static const char *const wanted[] = {"[E,K,outputs] with x's K", "[E,outputs,K] with x's K"};
    const tsr_linear_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[X], *w = s->in[W], *experts = s->in[EXPERTS],
                     *bias = tsri_graph_operand(s, BIAS);
    if (!tsri_graph_is_f32(x) || x->rank != 3)
        return tsri_graph_refuse(op, "x", x, "f32 [R,1,K] or [R,J,K]");
    if (experts->dtype != TSR_I32 || experts->rank != 2 || experts->dim[1].symbols ||
        !tsri_tensor_same_dim(experts->dim[0], x->dim[0]))
        return tsri_graph_refuse(op, "the experts", experts, "i32 [R,J] with x's R");
    if (!tsri_tensor_is_one(x->dim[1]) && !tsri_tensor_same_dim(x->dim[1], experts->dim[1]))
        return tsri_graph_refuse(op, "x", x, "f32 [R,1,K] or [R,J,K] with the experts' J");
    if (w->rank != 3 || w->dim[0].symbols || w->dim[0].factor < 1)
        return tsri_graph_refuse(op, "the weight", w, wanted[attrs->trans_w != 0]);
    tsr_tensor one = *w; /* expert 0's */
    one.rank = 2;
    for (uint32_t i = 0; i < 2; i++) {
        one.dim[i] = w->dim[i + 1];
        one.stride[i] = w->stride[i + 1];
    }
    TRY(tsri_graph_check_weight(op, &one, x, attrs->trans_w != 0, attrs->compute, wanted, n));
    if (bias &&
        (bias->dtype != TSR_F32 || bias->rank != 2 ||
         !tsri_tensor_same_dim(bias->dim[0], w->dim[0]) || !tsri_tensor_same_dim(bias->dim[1], *n)))
        return tsri_graph_refuse(op, "the bias", bias, "f32 [E,outputs]");
    return tsri_graph_check_activation(op, attrs->activation);
}

static void shape(tsri_graph_signature *s, tsr_dim columns) {
    s->out[Y].dtype = TSR_F32;
    s->out[Y].rank = 3;
    s->out[Y].dim[0] = s->in[EXPERTS]->dim[0];
    s->out[Y].dim[1] = s->in[EXPERTS]->dim[1];
    s->out[Y].dim[2] = columns;
}

static tsr_status infer(tsri_graph_signature *s) {
    tsr_dim n;
    TRY(check("expert_linear", s, &n));
    shape(s, n);
    return TSR_OK;
}

static tsr_status infer_gated(tsri_graph_signature *s) {
    tsr_dim n;
    const tsr_activation_attrs form = tsri_graph_gates_of(s->attrs);
    TRY(check("expert_glu_linear", s, &n));
    TRY(tsri_graph_check_gates("expert_glu_linear", &form));
    if (n.symbols || n.factor % 2)
        return tsri_graph_refuse("expert_glu_linear", "the weight", s->in[W],
                                 "an even number of outputs, gate then up");
    shape(s, tsri_tensor_const(n.factor / 2));
    return TSR_OK;
}

/* Of the weight, those experts are read that rows take: at most one for each. */
static tsri_graph_cost cost_of(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS], double gates) {
    const double K = (double)tsri_tensor_value(tsri_tensor_columns(op->in[X]), sizes),
                 pairs = tsri_graph_elements(op->in[EXPERTS], sizes),
                 E = (double)tsri_tensor_value(op->in[W]->dim[0], sizes);
    tsr_op without = *op;
    const tsr_tensor *in[expert_linear_inputs] = {NULL};
    for (uint32_t i = 0; i < op->n_in; i++)
        in[i] = i == W ? NULL : op->in[i];
    without.in = in;
    const double others = tsri_graph_bytes(&without, sizes),
                 weight = tsri_graph_bytes(op, sizes) - others;
    return (tsri_graph_cost){.flops = 2 * gates * K * tsri_graph_elements(op->out[Y], sizes),
                             .bytes = others + weight * (pairs < E ? pairs / E : 1)};
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return cost_of(op, sizes, 1);
}

static tsri_graph_cost cost_gated(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return cost_of(op, sizes, 2);
}

/* x [R,J,K] summed over j, as [R,1,K], in the order of j. */
static tsri_value summed(tsri_graph *graph, tsri_value x, int64_t J) {
    tsri_value sum = tsri_graph_slice(graph, x, 1, 0, 1);
    for (int64_t j = 1; j < J; j++) {
        const tsri_value in[] = {sum, tsri_graph_slice(graph, x, 1, j, 1)};
        sum = tsri_graph_op1(graph, TSR_OP_ADD, NULL, in, 2);
    }
    return sum;
}

/* Gives x, the weight and the bias their gradients from dz, that of the products [R,J,outputs]. */
static void give_all(tsri_graph_backward *b, const tsri_graph_node *node, tsri_value dz) {
    const tsr_linear_attrs *attrs = node->attrs;
    tsri_graph *graph = tsri_graph_of(b);
    const tsr_linear_attrs back = {.struct_size = sizeof back, .trans_w = !attrs->trans_w};
    const tsr_embed_attrs plain = {.struct_size = sizeof plain};
    const tsri_value x = node->in[X], experts = node->in[EXPERTS],
                     bias = node->n_in > BIAS ? node->in[BIAS] : TSRI_GRAPH_NONE;
    if (attrs->whole)
        tsri_graph_fail(graph, TSR_E_UNSUPPORTED, "%s: %s of a part of the experts has no gradient",
                        node->label, tsri_graph_op_find(node->id)->name);
    if (tsri_graph_wants(b, x)) {
        const tsri_value in[] = {dz, node->in[W], experts};
        const tsr_dim J = tsri_graph_value_at(graph, experts)->tensor.dim[1];
        const bool shared = tsri_tensor_is_one(tsri_graph_value_at(graph, x)->tensor.dim[1]);
        const tsri_value dx = tsri_graph_op1(graph, TSR_OP_EXPERT_LINEAR, &back, in, 3);
        tsri_graph_give(b, x, shared && dx != TSRI_GRAPH_NONE ? summed(graph, dx, J.factor) : dx);
    }
    tsri_graph_give_experts(b, node->in[W], attrs->trans_w ? dz : x, attrs->trans_w ? x : dz,
                            experts);
    if (tsri_graph_wants(b, bias))
        tsri_graph_give_rows(b, bias, &plain, experts, dz);
}

/* The products were not kept where an activation follows. */
static tsri_value products_again(tsri_graph_backward *b, const tsri_graph_node *node) {
    const tsr_linear_attrs *attrs = node->attrs;
    const tsr_linear_attrs plain = {
        .struct_size = sizeof plain, .trans_w = attrs->trans_w, .compute = attrs->compute};
    return tsri_graph_op1(tsri_graph_of(b), TSR_OP_EXPERT_LINEAR, &plain, node->in, node->n_in);
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsr_linear_attrs *attrs = node->attrs;
    give_all(b, node,
             attrs->activation == TSR_ACT_NONE
                 ? d_out[Y]
                 : tsri_graph_activation_gradient(b, attrs->activation, products_again(b, node),
                                                  d_out[Y]));
}

static void gradient_gated(tsri_graph_backward *b, const tsri_graph_node *node,
                           const tsri_value *d_out) {
    const tsr_activation_attrs gate = tsri_graph_gates_of(node->attrs);
    const tsri_value in[] = {products_again(b, node), d_out[Y]};
    give_all(b, node, tsri_graph_op1(tsri_graph_of(b), TSR_OP_GLU_GRAD, &gate, in, 2));
}

const tsri_graph_op_row tsri_graph_op_expert_linear = {.name = "expert_linear",
                                                       .id = TSR_OP_EXPERT_LINEAR,
                                                       .attrs_size = sizeof(tsr_linear_attrs),
                                                       .infer = infer,
                                                       .gradient = gradient,
                                                       .cost = cost};
const tsri_graph_op_row tsri_graph_op_expert_glu_linear = {.name = "expert_glu_linear",
                                                           .id = TSR_OP_EXPERT_GLU_LINEAR,
                                                           .attrs_size =
                                                               sizeof(tsr_glu_linear_attrs),
                                                           .infer = infer_gated,
                                                           .gradient = gradient_gated,
                                                           .cost = cost_gated};
