/* graph/ops/recurrent/gru_cell_grad.c - the op gru_cell_grad: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(gru_cell_grad);

static bool is_sequence(const tsr_tensor *x, const tsr_tensor *gates, tsr_dim E) {
    return tsri_graph_is_f32(x) && x->rank == 3 && tsri_tensor_same_dim(x->dim[0], gates->dim[0]) &&
           tsri_tensor_same_dim(x->dim[1], gates->dim[1]) && tsri_tensor_same_dim(x->dim[2], E);
}

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *gates = s->in[GATES_X], *state = s->in[STATE], *w = s->in[W],
                     *len = tsri_graph_operand(s, LEN);
    if (!tsri_graph_is_f32(gates) || gates->rank != 3)
        return tsri_graph_refuse("gru_cell_grad", "gates_x", gates, "f32 [B,T,3E]");
    const tsr_dim E = tsri_tensor_columns(w);
    if (!tsri_graph_is_float(w) || w->rank != 2 || E.symbols ||
        !tsri_tensor_same_dim(w->dim[0], gates->dim[2]) || w->dim[0].symbols ||
        w->dim[0].factor != 3 * E.factor)
        return tsri_graph_refuse("gru_cell_grad", "w", w,
                                 "f32, f16 or bf16 [3E,E] with gates_x's 3E");
    if (state && (!tsri_graph_is_f32(state) || state->rank != 2 ||
                  !tsri_tensor_same_dim(state->dim[0], gates->dim[0]) ||
                  !tsri_tensor_same_dim(state->dim[1], E)))
        return tsri_graph_refuse("gru_cell_grad", "state", state, "f32 [B,E] with w's E");
    if (!tsri_graph_is_vector(s->in[BIAS], w->dim[0]))
        return tsri_graph_refuse("gru_cell_grad", "b", s->in[BIAS], "f32 [3E]");
    for (uint32_t i = Y; i <= DY; i++)
        if (!is_sequence(s->in[i], gates, E))
            return tsri_graph_refuse("gru_cell_grad", i == Y ? "y" : "dy", s->in[i],
                                     "f32 [B,T,E] with gates_x's B and T");
    if (!tsri_graph_is_ints(len, gates->dim[0]))
        return tsri_graph_refuse("gru_cell_grad", "len", len, "i32 [B]");
    tsri_graph_shape_like(&s->out[DGATES_X], TSR_F32, gates, gates->dim[2]);
    tsri_graph_shape_like(&s->out[DGATES_H], TSR_F32, gates, gates->dim[2]);
    tsri_graph_shape_like(&s->out[BEFORE], TSR_F32, gates, E);
    s->out[DSTATE] = (tsr_tensor){.dtype = TSR_F32, .rank = 2, .dim = {gates->dim[0], E}};
    return TSR_OK;
}

/* The gates are computed again, with their contribution to the state before. */
static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double E = (double)op->in[W]->dim[1].factor;
    return (tsri_graph_cost){.flops = 12 * E * tsri_graph_elements(op->in[Y], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

const tsri_graph_op_row tsri_graph_op_gru_cell_grad = {.name = "gru_cell_grad",
                                                       .id = TSR_OP_GRU_CELL_GRAD,
                                                       .attrs_size = sizeof(tsr_gru_cell_attrs),
                                                       .infer = infer,
                                                       .cost = cost};
