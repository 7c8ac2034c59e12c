/* graph/ops/attention/softmax.c - the op softmax: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(softmax);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *x = s->in[X], *bias = tsri_graph_operand(s, BIAS),
                     *relative = tsri_graph_operand(s, RELATIVE);
    if (!tsri_graph_is_f32(x) || x->rank < 2)
        return tsri_graph_refuse("softmax", "x", x, "f32 [B,..,T,S]");
    for (uint32_t i = PAST; i <= LEN; i++)
        if (!tsri_graph_is_ints(tsri_graph_operand(s, i), x->dim[0]))
            return tsri_graph_refuse("softmax", tsri_graph_input_name(TSR_OP_SOFTMAX, i), s->in[i],
                                     "i32 [B]");
    if (!tsri_graph_is_f32(bias) || !tsri_graph_broadcasts(bias, x))
        return tsri_graph_refuse("softmax", "bias", bias, "f32, sizes equal to x's, or 1");
    if (relative && (x->rank != 4 || !tsri_graph_is_relative(relative, x->dim[1])))
        return tsri_graph_refuse("softmax", "relative", relative,
                                 "f32 [H,2R+1], with x of [B,H,T,S]");
    if (tsri_graph_operand(s, SINKS) &&
        (x->rank != 4 || !tsri_graph_is_vector(s->in[SINKS], x->dim[1])))
        return tsri_graph_refuse("softmax", "sinks", s->in[SINKS], "f32 [H], with x of [B,H,T,S]");
    tsri_graph_shape_like(&s->out[Y], TSR_F32, x, tsri_tensor_columns(x));
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    return (tsri_graph_cost){.flops = 5 * tsri_graph_elements(op->in[X], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

/* A relative table gets no gradient here; in attention it does. Nor do sinks. */
static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsr_softmax_attrs *attrs = node->attrs;
    const tsri_value bias = node->n_in > BIAS ? node->in[BIAS] : TSRI_GRAPH_NONE,
                     in[] = {node->out[Y], d_out[Y]};
    const float scale = attrs->scale != 0.0f ? attrs->scale : 1.0f;
    const bool biased = tsri_graph_wants(b, bias);
    const tsr_scale_attrs by_scale = {.struct_size = sizeof by_scale, .alpha = scale},
                          whole = {.struct_size = sizeof whole, .alpha = 1};
    tsri_graph *graph = tsri_graph_of(b);
    for (uint32_t i = RELATIVE; i < node->n_in; i++)
        if (tsri_graph_wants(b, node->in[i]))
            tsri_graph_fail(graph, TSR_E_UNSUPPORTED,
                            "softmax: the gradient of a relative table or sinks is not supported");
    tsri_value d = tsri_graph_op1(graph, TSR_OP_SOFTMAX_GRAD, biased ? &whole : &by_scale, in, 2);
    tsri_graph_give_broadcast(b, bias, d);
    if (biased && scale != 1 && tsri_graph_wants(b, node->in[X]))
        d = tsri_graph_op1(graph, TSR_OP_SCALE, &by_scale, &d, 1);
    tsri_graph_give(b, node->in[X], d);
}

const tsri_graph_op_row tsri_graph_op_softmax = {.name = "softmax",
                                                 .id = TSR_OP_SOFTMAX,
                                                 .attrs_size = sizeof(tsr_softmax_attrs),
                                                 .infer = infer,
                                                 .gradient = gradient,
                                                 .cost = cost};
