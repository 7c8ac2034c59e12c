/* graph/ops/recurrent/gru_cell_grad.c - the op gru_cell_grad: its shapes and its cost. */
#include "graph/ops/recurrent/gru_cell.h"

TSRI_OPERANDS(gru_cell_grad);

static bool is_sequence(const tsr_tensor *x, const tsr_tensor *gates, tsr_dim E) {
    return tsri_graph_is_f32(x) && x->rank == 3 && tsri_tensor_same_dim(x->dim[0], gates->dim[0]) &&
           tsri_tensor_same_dim(x->dim[1], gates->dim[1]) && tsri_tensor_same_dim(x->dim[2], E);
}

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *gates = s->in[GATES_X], *len = tsri_graph_operand(s, LEN);
    tsr_dim E;
    TRY(tsri_graph_check_gru("gru_cell_grad", s, &E));
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
