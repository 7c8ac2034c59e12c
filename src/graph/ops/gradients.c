/* graph/ops/gradients.c - functions that the gradients of several ops share. */
#include "graph/ops/check.h"

/* Appends to `order` the dimensions of d that the value has, too (own), or those that it is repeated
 * along; returns the product of their sizes. */
static tsr_dim take_dims(const tsr_tensor *d, const tsr_tensor *value, bool own,
                         uint32_t order[TSR_MAX_RANK], uint32_t *n) {
    const uint32_t lead = d->rank - value->rank;
    tsr_dim product = tsri_tensor_const(1);
    for (uint32_t i = 0; i < d->rank; i++) {
        if (own != (i >= lead && tsri_tensor_same_dim(value->dim[i - lead], d->dim[i])))
            continue;
        product = tsri_tensor_times(product, d->dim[i]);
        order[(*n)++] = i;
    }
    return product;
}

void tsri_graph_give_broadcast(tsri_graph_backward *b, tsri_value value, tsri_value d) {
    tsri_graph *graph = tsri_graph_of(b);
    if (!tsri_graph_wants(b, value) || d == TSRI_GRAPH_NONE)
        return;
    const tsr_tensor have = tsri_graph_value_at(graph, d)->tensor,
                     wanted = tsri_graph_value_at(graph, value)->tensor;
    uint32_t order[TSR_MAX_RANK], n = 0;
    const tsr_dim rows = take_dims(&have, &wanted, false, order, &n);
    if (n) {
        const tsr_dim columns = take_dims(&have, &wanted, true, order, &n);
        const tsri_value outer_first =
            tsri_graph_packed(graph, tsri_graph_permute(graph, d, order));
        const tsri_value matrix =
            tsri_graph_reshape(graph, outer_first, 2, (tsr_dim[]){rows, columns});
        d = tsri_graph_op1(graph, TSR_OP_SUM_ROWS, NULL, &matrix, 1);
        d = tsri_graph_shaped(graph, d, value);
    }
    tsri_graph_give(b, value, d);
}

tsri_value tsri_graph_activation_gradient(tsri_graph_backward *b, uint32_t activation, tsri_value x,
                                          tsri_value dy) {
    const tsr_activation_attrs attrs = {.struct_size = sizeof attrs, .activation = activation};
    return tsri_graph_op1(tsri_graph_of(b), TSR_OP_ACTIVATION_GRAD, &attrs, (tsri_value[]){x, dy},
                          2);
}

uint32_t tsri_graph_matmul_compute(uint32_t compute) {
    return compute == TSR_COMPUTE_BF16 ? TSR_COMPUTE_BF16 : TSR_COMPUTE_F32;
}

void tsri_graph_linear_gradient(tsri_graph_backward *b, const tsri_graph_node *node, bool trans_w,
                                uint32_t compute, tsri_value dz) {
    tsri_graph *graph = tsri_graph_of(b);
    const uint32_t products = tsri_graph_matmul_compute(compute);
    const tsri_value x = node->in[0], w = node->in[1],
                     bias = node->n_in > 2 ? node->in[2] : TSRI_GRAPH_NONE;
    const tsr_matmul_attrs by_w = {.struct_size = sizeof by_w,
                                   .trans_b = !trans_w,
                                   .compute = products},
                           turned = {
                               .struct_size = sizeof turned, .trans_a = 1, .compute = products};
    const tsri_value rows = tsri_graph_matrix(graph, dz);
    tsri_graph_give_product(b, x, &by_w, rows, w);
    if (tsri_graph_wants(b, w)) {
        const tsri_value columns = tsri_graph_matrix(graph, x);
        tsri_graph_give_product(b, w, &turned, trans_w ? rows : columns, trans_w ? columns : rows);
    }
    if (tsri_graph_wants(b, bias))
        tsri_graph_give(b, bias, tsri_graph_op1(graph, TSR_OP_SUM_ROWS, NULL, &rows, 1));
}

bool tsri_graph_refuse_normed(tsri_graph_backward *b, const tsri_graph_node *node, uint32_t norm) {
    if (node->n_in <= norm || node->in[norm] == TSRI_GRAPH_NONE)
        return false;
    tsri_graph_fail(tsri_graph_of(b), TSR_E_UNSUPPORTED,
                    "%s: %s with a norm has no gradient; make the norm an op of its own",
                    node->label, tsri_graph_op_find(node->id)->name);
    return true;
}

tsri_value tsri_graph_norm_gradient(tsri_graph_backward *b, tsr_norm norm,
                                    const tsr_norm_attrs *attrs, tsri_value x, tsri_value weight,
                                    tsri_value bias, tsri_value dy, tsri_value addend) {
    tsri_graph *graph = tsri_graph_of(b);
    const bool learns = tsri_graph_wants(b, weight) || tsri_graph_wants(b, bias);
    tsr_norm_attrs kind = *attrs;
    tsri_value d[2], weights[2];
    kind.norm = norm;
    tsri_graph_op(graph, TSR_OP_NORM_GRAD, &kind, (tsri_value[]){x, weight, dy, addend}, 4,
                  learns ? 2 : 0, d);
    if (learns) {
        const bool by_bias = tsri_graph_wants(b, bias);
        tsri_graph_op(graph, TSR_OP_NORM_WEIGHT_GRAD, NULL, (tsri_value[]){x, dy, d[1]}, 3,
                      by_bias ? 2 : 0, weights);
        tsri_graph_give(b, weight, weights[0]);
        if (by_bias)
            tsri_graph_give(b, bias, weights[1]);
    }
    return d[0];
}
