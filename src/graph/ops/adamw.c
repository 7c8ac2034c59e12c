/* graph/ops/adamw.c - the op adamw: its shapes and its cost. */
#include "graph/ops/check.h"

static tsr_status infer(tsri_graph_signature *s) {
    static const char *const names[] = {"p", "m", "v", "the gradient"};
    const tsr_tensor *p = s->in[0];
    for (uint32_t i = 0; i < 4; i++)
        if (!tsri_graph_is_like(s->in[i], p) || !tsri_tensor_is_packed(s->in[i]))
            return tsri_graph_refuse("adamw", names[i], s->in[i], "f32 of p's shape, packed");
    if (!tsri_graph_is_vector(s->in[4], tsri_tensor_const(4)))
        return tsri_graph_refuse("adamw", "rates", s->in[4], "f32 [4]");
    return tsri_graph_check_rounded("adamw", tsri_graph_operand(s, 5), p);
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double n = tsri_graph_elements(op->in[0], sizes); /* three arrays are read and written */
    return (tsri_graph_cost){.flops = 14 * n, .bytes = tsri_graph_bytes(op, sizes) + 12 * n};
}

const tsri_graph_op_row tsri_graph_op_adamw = {.name = "adamw",
                                               .id = TSR_OP_ADAMW,
                                               .min_in = 5,
                                               .max_in = 6,
                                               .optional_in = 32,
                                               .writes = 1 | 2 | 4 | 32,
                                               .attrs_size = sizeof(tsr_adamw_attrs),
                                               .infer = infer,
                                               .cost = cost};
