/* graph/ops/optimizers/adamw.c - the op adamw: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(adamw);

static tsr_status infer(tsri_graph_signature *s) {
    static const char *const names[] = {"p", "m", "v", "the gradient"};
    const tsr_tensor *p = s->in[P];
    for (uint32_t i = 0; i <= GRADIENT; i++)
        if (!tsri_graph_is_like(s->in[i], p) || !tsri_tensor_is_packed(s->in[i]))
            return tsri_graph_refuse("adamw", names[i], s->in[i], "f32 of p's shape, packed");
    if (!tsri_graph_is_vector(s->in[RATES], tsri_tensor_const(4)))
        return tsri_graph_refuse("adamw", "rates", s->in[RATES], "f32 [4]");
    return tsri_graph_check_rounded("adamw", tsri_graph_operand(s, ROUNDED), p);
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double n = tsri_graph_elements(op->in[P], sizes); /* three arrays are read and written */
    return (tsri_graph_cost){.flops = 14 * n, .bytes = tsri_graph_bytes(op, sizes) + 12 * n};
}

const tsri_graph_op_row tsri_graph_op_adamw = {.name = "adamw",
                                               .id = TSR_OP_ADAMW,
                                               .attrs_size = sizeof(tsr_adamw_attrs),
                                               .infer = infer,
                                               .cost = cost};
