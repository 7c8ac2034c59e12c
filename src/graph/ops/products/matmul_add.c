/* graph/ops/products/matmul_add.c - the op matmul_add: its shapes, the simpler ops that replace it
 * and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(matmul_add);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_matmul_attrs *attrs = s->attrs;
    const tsr_tensor *state = s->in[STATE], *a = s->in[A], *b = s->in[B],
                     *beta = tsri_graph_operand(s, BETA);
    TRY(tsri_graph_check_compute("matmul_add", attrs->compute));
    if (!tsri_graph_is_f32(state) || state->rank != 2)
        return tsri_graph_refuse("matmul_add", "the state", state, "f32 [M,N]");
    if (!tsri_graph_is_f32(a) || a->rank != 2 ||
        !tsri_tensor_same_dim(a->dim[attrs->trans_a ? 1 : 0], state->dim[0]))
        return tsri_graph_refuse("matmul_add", "a", a,
                                 attrs->trans_a ? "f32 [K,M] with the state's M"
                                                : "f32 [M,K] with the state's M");
    if (!tsri_graph_is_float(b) || b->rank != 2 ||
        !tsri_tensor_same_dim(b->dim[attrs->trans_b ? 0 : 1], state->dim[1]) ||
        !tsri_tensor_same_dim(b->dim[attrs->trans_b ? 1 : 0], a->dim[attrs->trans_a ? 0 : 1]))
        return tsri_graph_refuse(
            "matmul_add", "b", b,
            attrs->trans_b ? "f32, f16 or bf16 [N,K] with the state's N and the inner size of a"
                           : "f32, f16 or bf16 [K,N] with the inner size of a and the state's N");
    if (!tsri_graph_is_vector(beta, tsri_tensor_const(1)))
        return tsri_graph_refuse("matmul_add", "beta", beta, "f32 [1]");
    return TSR_OK;
}

static void decompose(tsri_graph *graph, const tsri_graph_node *node, const tsri_value *in,
                      tsri_value *out) {
    const tsri_value beta = node->n_in > BETA ? in[BETA] : TSRI_GRAPH_NONE;
    const tsri_value product = tsri_graph_op1(graph, TSR_OP_MATMUL, node->attrs, &in[A], 2);
    (void)out;
    tsri_graph_op(graph, TSR_OP_ACCUMULATE, NULL, (tsri_value[]){in[STATE], product, beta}, 3, 0,
                  NULL);
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const tsr_matmul_attrs *attrs = op->attrs;
    const double k = (double)tsri_tensor_value(op->in[A]->dim[attrs->trans_a ? 0 : 1], sizes);
    const double elements = tsri_graph_elements(op->in[STATE], sizes);
    return (tsri_graph_cost){.flops = 2 * k * elements,
                             .bytes = tsri_graph_bytes(op, sizes) + 4 * elements};
}

const tsri_graph_op_row tsri_graph_op_matmul_add = {.name = "matmul_add",
                                                    .id = TSR_OP_MATMUL_ADD,
                                                    .attrs_size = sizeof(tsr_matmul_attrs),
                                                    .infer = infer,
                                                    .decompose = decompose,
                                                    .cost = cost};
