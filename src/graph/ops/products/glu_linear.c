/* graph/ops/products/glu_linear.c - the op glu_linear: its shapes, the simpler ops that replace it,
 * its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(glu_linear);

static tsr_status infer(tsri_graph_signature *s) {
    static const char *const wanted[] = {"[K,2F] with x's K", "[2F,K] with x's K"};
    const tsr_glu_linear_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[X], *w = s->in[W];
    tsr_dim n;
    if (!tsri_graph_is_f32(x) || x->rank < 1)
        return tsri_graph_refuse("glu_linear", "x", x, "f32 [..,K]");
    TRY(tsri_graph_check_weight("glu_linear", w, x, attrs->trans_w != 0, attrs->compute, wanted,
                                &n));
    if (n.symbols || n.factor % 2)
        return tsri_graph_refuse("glu_linear", "the weight", w,
                                 "an even number of outputs, gate then up");
    if (!tsri_graph_is_vector(tsri_graph_operand(s, BIAS), n))
        return tsri_graph_refuse("glu_linear", "the bias", s->in[BIAS], "f32 [2F]");
    const tsr_activation_attrs form = tsri_graph_gates_of(attrs);
    TRY(tsri_graph_check_gates("glu_linear", &form));
    tsri_graph_shape_like(&s->out[Y], TSR_F32, x, tsri_tensor_const(n.factor / 2));
    return tsri_graph_check_norm("glu_linear", tsri_graph_operand(s, NORM), attrs->norm_eps, x);
}

static void decompose(tsri_graph *graph, const tsri_graph_node *node, const tsri_value *in,
                      tsri_value *out) {
    const tsr_glu_linear_attrs *attrs = node->attrs;
    const tsr_linear_attrs linear = {.struct_size = sizeof linear,
                                     .trans_w = attrs->trans_w,
                                     .compute = attrs->compute,
                                     .norm_eps = attrs->norm_eps};
    const tsri_value of_linear[] = {in[X], in[W], node->n_in > BIAS ? in[BIAS] : TSRI_GRAPH_NONE,
                                    TSRI_GRAPH_NONE, /* no residual */
                                    node->n_in > NORM ? in[NORM] : TSRI_GRAPH_NONE};
    const tsr_activation_attrs form = tsri_graph_gates_of(attrs);
    const tsri_value both = tsri_graph_op1(graph, TSR_OP_LINEAR, &linear, of_linear, 5);
    if (both == TSRI_GRAPH_NONE)
        return;
    if (form.limit != 0 || form.alpha != 0 || form.shift != 0) {
        out[0] = tsri_graph_op1(graph, TSR_OP_GLU, &form, &both, 1);
        return;
    }
    const tsr_tensor *t = &tsri_graph_value_at(graph, both)->tensor;
    const uint32_t last = t->rank - 1;
    const int64_t half = t->dim[last].factor / 2;
    const tsri_value gate = tsri_graph_slice(graph, both, last, 0, half),
                     up = tsri_graph_slice(graph, both, last, half, half);
    out[0] =
        tsri_graph_op1(graph, TSR_OP_MUL, NULL,
                       (tsri_value[]){tsri_graph_activate(graph, attrs->activation, gate), up}, 2);
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double k = (double)tsri_tensor_value(tsri_tensor_columns(op->in[X]), sizes);
    return (tsri_graph_cost){.flops = 4 * k * tsri_graph_elements(op->out[Y], sizes) +
                                      tsri_graph_norm_flops(op, NORM, sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsr_glu_linear_attrs *attrs = node->attrs;
    const tsr_linear_attrs plain = {
        .struct_size = sizeof plain, .trans_w = attrs->trans_w, .compute = attrs->compute};
    const tsr_activation_attrs gate = tsri_graph_gates_of(attrs);
    if (tsri_graph_refuse_normed(b, node, NORM))
        return;
    const uint32_t n_in = node->n_in < NORM ? node->n_in : NORM;
    const tsri_value z = tsri_graph_op1(tsri_graph_of(b), TSR_OP_LINEAR, &plain, node->in, n_in);
    const tsri_value in[] = {z, d_out[Y]};
    tsri_graph_linear_gradient(b, node, attrs->trans_w != 0, attrs->compute,
                               tsri_graph_op1(tsri_graph_of(b), TSR_OP_GLU_GRAD, &gate, in, 2));
}

const tsri_graph_op_row tsri_graph_op_glu_linear = {.name = "glu_linear",
                                                    .id = TSR_OP_GLU_LINEAR,
                                                    .attrs_size = sizeof(tsr_glu_linear_attrs),
                                                    .infer = infer,
                                                    .decompose = decompose,
                                                    .gradient = gradient,
                                                    .cost = cost};
