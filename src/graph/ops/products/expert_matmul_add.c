/* graph/ops/products/expert_matmul_add.c - the op expert_matmul_add: its shapes and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(expert_matmul_add);

/* Whether it has a row for each pair, or one for each row of the experts, and the columns of `dim`. */
static bool is_rows(const tsr_tensor *x, const tsr_tensor *experts, tsr_dim columns) {
    return tsri_graph_is_f32(x) && x->rank == 3 &&
           tsri_tensor_same_dim(x->dim[0], experts->dim[0]) &&
           (tsri_tensor_is_one(x->dim[1]) || tsri_tensor_same_dim(x->dim[1], experts->dim[1])) &&
           tsri_tensor_same_dim(x->dim[2], columns);
}

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_tensor *state = s->in[STATE], *experts = s->in[EXPERTS],
                     *beta = tsri_graph_operand(s, BETA);
    if (!tsri_graph_is_f32(state) || state->rank != 3)
        return tsri_graph_refuse("expert_matmul_add", "the state", state, "f32 [E,M,N]");
    if (experts->dtype != TSR_I32 || experts->rank != 2 || experts->dim[1].symbols)
        return tsri_graph_refuse("expert_matmul_add", "the experts", experts, "i32 [R,J]");
    if (!is_rows(s->in[A], experts, state->dim[1]))
        return tsri_graph_refuse("expert_matmul_add", "a", s->in[A],
                                 "f32 [R,1,M] or [R,J,M] with the experts' R and the state's M");
    if (!is_rows(s->in[B], experts, state->dim[2]))
        return tsri_graph_refuse("expert_matmul_add", "b", s->in[B],
                                 "f32 [R,1,N] or [R,J,N] with the experts' R and the state's N");
    if (!tsri_graph_is_vector(beta, tsri_tensor_const(1)))
        return tsri_graph_refuse("expert_matmul_add", "beta", beta, "f32 [1]");
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const double pairs = tsri_graph_elements(op->in[EXPERTS], sizes),
                 M = (double)tsri_tensor_value(op->in[STATE]->dim[1], sizes),
                 N = (double)tsri_tensor_value(op->in[STATE]->dim[2], sizes);
    return (tsri_graph_cost){.flops = 2 * pairs * M * N,
                             .bytes = tsri_graph_bytes(op, sizes) +
                                      4 * tsri_graph_elements(op->in[STATE], sizes)};
}

const tsri_graph_op_row tsri_graph_op_expert_matmul_add = {
    .name = "expert_matmul_add", .id = TSR_OP_EXPERT_MATMUL_ADD, .infer = infer, .cost = cost};
