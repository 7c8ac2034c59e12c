/* graph/ops/recurrent/gru_cell.c - the op gru_cell: its shapes, its gradient and its cost. */
#include "graph/ops/recurrent/gru_cell.h"

TSRI_OPERANDS(gru_cell);

tsr_status tsri_graph_check_gru(const char *op, const tsri_graph_signature *s, tsr_dim *E) {
    const tsr_tensor *gates = s->in[GATES_X], *state = s->in[STATE], *w = s->in[W];
    if (!tsri_graph_is_f32(gates) || gates->rank != 3)
        return tsri_graph_refuse(op, "gates_x", gates, "f32 [B,T,3E]");
    *E = tsri_tensor_columns(w);
    if (!tsri_graph_is_float(w) || w->rank != 2 || E->symbols ||
        !tsri_tensor_same_dim(w->dim[0], gates->dim[2]) || w->dim[0].symbols ||
        w->dim[0].factor != 3 * E->factor)
        return tsri_graph_refuse(op, "w", w, "f32, f16 or bf16 [3E,E] with gates_x's 3E");
    if (state && (!tsri_graph_is_f32(state) || state->rank != 2 ||
                  !tsri_tensor_same_dim(state->dim[0], gates->dim[0]) ||
                  !tsri_tensor_same_dim(state->dim[1], *E)))
        return tsri_graph_refuse(op, "state", state, "f32 [B,E] with w's E");
    return tsri_graph_is_vector(s->in[BIAS], w->dim[0])
               ? TSR_OK
               : tsri_graph_refuse(op, "b", s->in[BIAS], "f32 [3E]");
}

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *gates = s->in[GATES_X], *len = tsri_graph_operand(s, LEN);
    tsr_dim E;
    TRY(tsri_graph_check_gru("gru_cell", s, &E));
    if (!tsri_graph_is_ints(len, gates->dim[0]))
        return tsri_graph_refuse("gru_cell", "len", len, "i32 [B]");
    tsri_graph_shape_like(&s->out[Y], TSR_F32, gates, E);
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double E = (double)op->in[W]->dim[1].factor;
    return (tsri_graph_cost){.flops = 6 * E * tsri_graph_elements(op->out[Y], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    tsri_graph *graph = tsri_graph_of(b);
    const tsr_matmul_attrs turned = {.struct_size = sizeof turned, .trans_a = 1};
    const tsri_value in[] = {node->in[GATES_X],
                             node->in[STATE],
                             node->in[W],
                             node->in[BIAS],
                             node->out[Y],
                             d_out[Y],
                             node->n_in > LEN ? node->in[LEN] : TSRI_GRAPH_NONE};
    const bool state = tsri_graph_wants(b, node->in[STATE]);
    tsri_value d[4];
    tsri_graph_op(graph, TSR_OP_GRU_CELL_GRAD, node->attrs, in, 7, state ? 8 : 0, d);
    tsri_graph_give(b, node->in[GATES_X], d[0]);
    if (state)
        tsri_graph_give(b, node->in[STATE], d[3]);
    const tsri_value rows = tsri_graph_matrix(graph, d[1]);
    tsri_graph_give_product(b, node->in[W], &turned, rows, tsri_graph_matrix(graph, d[2]));
    if (tsri_graph_wants(b, node->in[BIAS]))
        tsri_graph_give(b, node->in[BIAS], tsri_graph_op1(graph, TSR_OP_SUM_ROWS, NULL, &rows, 1));
}

const tsri_graph_op_row tsri_graph_op_gru_cell = {.name = "gru_cell",
                                                  .id = TSR_OP_GRU_CELL,
                                                  .attrs_size = sizeof(tsr_gru_cell_attrs),
                                                  .infer = infer,
                                                  .gradient = gradient,
                                                  .cost = cost};
