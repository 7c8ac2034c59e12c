/* graph/ops/products/linear.c - the op linear: its shapes, the simpler ops that replace it, its
 * gradient and its cost. */
#include "graph/ops/check.h"

#include <string.h>

TSRI_OPERANDS(linear);

static tsr_status infer(tsri_graph_signature *s) {
    static const char *const wanted[] = {"[K,N] with x's K", "[N,K] with x's K"};
    const tsr_linear_attrs *attrs = s->attrs;
    const tsr_tensor *x = s->in[X], *w = s->in[W], *residual = tsri_graph_operand(s, RESIDUAL);
    tsr_dim n;
    if (!tsri_graph_is_f32(x) || x->rank < 1)
        return tsri_graph_refuse("linear", "x", x, "f32 [..,K]");
    TRY(tsri_graph_check_weight("linear", w, x, attrs->trans_w != 0, attrs->compute, wanted, &n));
    if (!tsri_graph_is_vector(tsri_graph_operand(s, BIAS), n))
        return tsri_graph_refuse("linear", "the bias", s->in[BIAS], "f32 [N]");
    TRY(tsri_graph_check_norm("linear", tsri_graph_operand(s, NORM), attrs->norm_eps, x));
    tsri_graph_shape_like(&s->out[Y], TSR_F32, x, n);
    bool same = !residual || (residual->dtype == TSR_F32 && residual->rank == x->rank);
    for (uint32_t i = 0; same && residual && i < x->rank; i++)
        same = tsri_tensor_same_dim(residual->dim[i], s->out[Y].dim[i]);
    return same ? TSR_OK
                : tsri_graph_refuse("linear", "the residual", residual, "f32 of the shape of y");
}

static void decompose(tsri_graph *graph, const tsri_graph_node *node, const tsri_value *in,
                      tsri_value *out) {
    const tsr_linear_attrs *attrs = node->attrs;
    const tsri_value norm = node->n_in > NORM ? in[NORM] : TSRI_GRAPH_NONE;
    if (norm != TSRI_GRAPH_NONE) { /* the same without a norm, of the normed x */
        const tsr_norm_attrs rms = {
            .struct_size = sizeof rms, .norm = TSR_NORM_RMS, .eps = attrs->norm_eps};
        tsri_value own[NORM];
        memcpy(own, in, sizeof own);
        own[X] = tsri_graph_op1(graph, TSR_OP_RMS_NORM, &rms, (tsri_value[]){in[X], norm}, 2);
        out[0] = tsri_graph_op1(graph, TSR_OP_LINEAR, attrs, own, NORM);
        return;
    }
    const tsr_matmul_attrs matmul = {.struct_size = sizeof matmul,
                                     .trans_b = attrs->trans_w,
                                     .compute = tsri_graph_matmul_compute(attrs->compute)};
    tsri_value y = tsri_graph_op1(graph, TSR_OP_MATMUL, &matmul, in, 2);
    if (node->n_in > BIAS && in[BIAS] != TSRI_GRAPH_NONE)
        y = tsri_graph_op1(graph, TSR_OP_ADD, NULL, (tsri_value[]){y, in[BIAS]}, 2);
    y = tsri_graph_activate(graph, attrs->activation, y);
    if (node->n_in > RESIDUAL && in[RESIDUAL] != TSRI_GRAPH_NONE)
        y = tsri_graph_op1(graph, TSR_OP_ADD, NULL, (tsri_value[]){y, in[RESIDUAL]}, 2);
    out[0] = y;
}

/* matmul does not take blocks. */
static bool decomposes(const tsr_op *op) {
    return (op->n_in > NORM && op->in[NORM]) || tsri_graph_is_float(op->in[W]);
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double k = (double)tsri_tensor_value(tsri_tensor_columns(op->in[X]), sizes);
    return (tsri_graph_cost){.flops = 2 * k * tsri_graph_elements(op->out[Y], sizes) +
                                      tsri_graph_norm_flops(op, NORM, sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsr_linear_attrs *attrs = node->attrs;
    tsri_graph *graph = tsri_graph_of(b);
    const uint32_t n_in = node->n_in < 3 ? node->n_in : 3;
    tsri_value dz = d_out[Y];
    if (tsri_graph_refuse_normed(b, node, NORM))
        return;
    if (node->n_in > RESIDUAL)
        tsri_graph_give(b, node->in[RESIDUAL], dz);
    if (attrs->activation != TSR_ACT_NONE) { /* the input of the activation was not kept */
        tsr_linear_attrs plain = *attrs;
        plain.activation = TSR_ACT_NONE;
        const tsri_value z = tsri_graph_op1(graph, TSR_OP_LINEAR, &plain, node->in, n_in);
        dz = tsri_graph_activation_gradient(b, attrs->activation, z, dz);
    }
    tsri_graph_linear_gradient(b, node, attrs->trans_w != 0, attrs->compute, dz);
}

const tsri_graph_op_row tsri_graph_op_linear = {.name = "linear",
                                                .id = TSR_OP_LINEAR,
                                                .attrs_size = sizeof(tsr_linear_attrs),
                                                .infer = infer,
                                                .decompose = decompose,
                                                .decomposes = decomposes,
                                                .gradient = gradient,
                                                .cost = cost};
