/* graph/ops/products/matmul.c - the op matmul: its shapes, its gradient and its cost. */
#include "graph/ops/check.h"

TSRI_OPERANDS(matmul);

static tsr_status infer(tsri_graph_signature *s) {
    const tsr_matmul_attrs *attrs = s->attrs;
    const tsr_tensor *a = s->in[A], *b = s->in[B];
    TRY(tsri_graph_check_compute("matmul", attrs->compute));
    if (!tsri_graph_is_f32(a) || a->rank < 2 || a->rank > 5)
        return tsri_graph_refuse("matmul", "a", a,
                                 "f32 [..,M,K] with at most 3 leading dimensions");
    if (!tsri_graph_is_float(b) || b->rank < 2 || b->rank > a->rank)
        return tsri_graph_refuse("matmul", "b", b,
                                 "f32, f16 or bf16 [..,K,N] of no more dimensions than a");
    const uint32_t ra = a->rank, rb = b->rank;
    const tsr_dim k_a = a->dim[ra - (attrs->trans_a ? 2 : 1)],
                  k_b = b->dim[rb - (attrs->trans_b ? 1 : 2)];
    if (!tsri_tensor_same_dim(k_a, k_b))
        return tsri_graph_refuse("matmul", "b", b, "the inner size of a");
    for (uint32_t i = 2; i < rb; i++)
        if (!tsri_tensor_same_dim(a->dim[ra - 1 - i], b->dim[rb - 1 - i]) &&
            !tsri_tensor_is_one(b->dim[rb - 1 - i]))
            return tsri_graph_refuse("matmul", "b", b, "the leading sizes of a, or 1");
    tsri_graph_shape_like(&s->out[Y], TSR_F32, a, b->dim[rb - (attrs->trans_b ? 2 : 1)]);
    s->out[Y].dim[ra - 2] = a->dim[ra - (attrs->trans_a ? 1 : 2)];
    return TSR_OK;
}

static tsri_graph_cost cost(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS]) {
    const tsr_matmul_attrs *attrs = op->attrs;
    const tsr_tensor *a = op->in[A];
    const double k = (double)tsri_tensor_value(a->dim[a->rank - (attrs->trans_a ? 2 : 1)], sizes);
    return (tsri_graph_cost){.flops = 2 * k * tsri_graph_elements(op->out[Y], sizes),
                             .bytes = tsri_graph_bytes(op, sizes)};
}

static bool is_one_matrix(const tsr_tensor *t) {
    bool one = true;
    for (uint32_t i = 0; one && i + 2 < t->rank; i++)
        one = tsri_tensor_is_one(t->dim[i]);
    return one;
}

/* Where one matrix b serves all rows of a, its gradient is a product of two matrices. Other
 * matrices that are broadcast over the leading dimensions of a must not need a gradient. */
static void gradient(tsri_graph_backward *b, const tsri_graph_node *node, const tsri_value *d_out) {
    const tsr_matmul_attrs *attrs = node->attrs;
    tsri_graph *graph = tsri_graph_of(b);
    const tsri_value x = node->in[A], w = node->in[B], dy = d_out[Y];
    const uint32_t ta = attrs->trans_a != 0, tb = attrs->trans_b != 0;
    const tsr_matmul_attrs for_x = {.struct_size = sizeof for_x,
                                    .trans_a = ta && tb,
                                    .trans_b = ta || !tb,
                                    .alpha = attrs->alpha,
                                    .compute = attrs->compute},
                           for_w = {.struct_size = sizeof for_w,
                                    .trans_a = tb ? 1 : !ta,
                                    .trans_b = tb && ta,
                                    .alpha = attrs->alpha,
                                    .compute = attrs->compute};
    const tsr_tensor *tx = &tsri_graph_value_at(graph, x)->tensor,
                     *tw = &tsri_graph_value_at(graph, w)->tensor;
    bool alike = tx->rank == tw->rank;
    for (uint32_t i = 0; alike && i + 2 < tx->rank; i++)
        alike = tsri_tensor_same_dim(tx->dim[i], tw->dim[i]);
    const bool by_rows = !alike && !ta && is_one_matrix(tw);
    if (!alike && !by_rows && tsri_graph_wants(b, w))
        tsri_graph_fail(graph, TSR_E_UNSUPPORTED,
                        "matmul: the gradient of a matrix that is broadcast is supported only "
                        "where there is one for all rows of a, and a is not transposed");
    /* x is [K,M] where transposed: its gradient is w dy^T */
    tsri_graph_give_product(b, x, &for_x, ta ? w : dy, ta ? dy : w);
    if (!tsri_graph_wants(b, w))
        return;
    const tsri_value rows = by_rows ? tsri_graph_matrix(graph, dy) : dy,
                     columns = by_rows ? tsri_graph_matrix(graph, x) : x;
    tsri_graph_give_product(b, w, &for_w, tb ? rows : columns, tb ? columns : rows);
}

const tsri_graph_op_row tsri_graph_op_matmul = {.name = "matmul",
                                                .id = TSR_OP_MATMUL,
                                                .attrs_size = sizeof(tsr_matmul_attrs),
                                                .infer = infer,
                                                .gradient = gradient,
                                                .cost = cost};
