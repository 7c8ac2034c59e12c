/* graph/ops/optimizers/sgd.c - the op sgd: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(sgd);

static tsr_status infer(tsri_graph_signature *s) {
    static const char *const names[] = {"p", "the velocity", "the gradient"};
    const tsr_sgd_attrs *attrs = s->attrs;
    const tsr_tensor *p = s->in[P];
    for (uint32_t i = 0; i <= GRADIENT; i++)
        if (s->in[i] && (!tsri_graph_is_like(s->in[i], p) || !tsri_tensor_is_packed(s->in[i])))
            return tsri_graph_refuse("sgd", names[i], s->in[i], "f32 of p's shape, packed");
    if (!s->in[VELOCITY] && attrs->momentum != 0)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "sgd: momentum is %g, which needs a velocity; without one it is 0",
                              (double)attrs->momentum);
    if (!tsri_graph_is_vector(s->in[RATES], tsri_tensor_const(4)))
        return tsri_graph_refuse("sgd", "rates", s->in[RATES], "f32 [4]");
    return tsri_graph_check_rounded("sgd", tsri_graph_operand(s, ROUNDED), p);
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double n = tsri_graph_elements(op->in[P], sizes);
    return (tsri_graph_cost){.flops = 6 * n,
                             .bytes = tsri_graph_bytes(op, sizes) + (op->in[VELOCITY] ? 8 : 4) * n};
}

const tsri_graph_op_row tsri_graph_op_sgd = {.name = "sgd",
                                             .id = TSR_OP_SGD,
                                             .attrs_size = sizeof(tsr_sgd_attrs),
                                             .infer = infer,
                                             .cost = cost};
