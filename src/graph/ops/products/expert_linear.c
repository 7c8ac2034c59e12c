/* graph/ops/products/expert_linear.c - the ops expert_linear and expert_glu_linear: their shapes and
 * their cost. */
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
    one.dim[0] = w->dim[1];
    one.dim[1] = w->dim[2];
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
    TRY(check("expert_glu_linear", s, &n));
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

const tsri_graph_op_row tsri_graph_op_expert_linear = {.name = "expert_linear",
                                                       .id = TSR_OP_EXPERT_LINEAR,
                                                       .attrs_size = sizeof(tsr_linear_attrs),
                                                       .infer = infer,
                                                       .cost = cost};
const tsri_graph_op_row tsri_graph_op_expert_glu_linear = {.name = "expert_glu_linear",
                                                           .id = TSR_OP_EXPERT_GLU_LINEAR,
                                                           .attrs_size =
                                                               sizeof(tsr_glu_linear_attrs),
                                                           .infer = infer_gated,
                                                           .cost = cost_gated};
