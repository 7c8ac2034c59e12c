/* Graphs are changed for a device: norms join the products that read them, and operands become packed copies. */
#include "graph/make.h"

#include "base/error.h"

#include <criterion/criterion.h>

typedef struct joining {
    int together; /* so many questions are answered with yes */
    int asked;
    tsr_op_id last; /* the product that was asked about */
} joining;

static bool answer(void *data, const tsri_graph *graph, const tsri_graph_node *product,
                   const tsri_graph_node *norm, const tsr_op *together, const tsr_op *apart) {
    joining *j = data;
    const bool adds = product->in[0] != norm->out[0] && product->in[0] != norm->out[1];
    const uint32_t place = tsri_tensor_operands_of(product->id)->n_in - (adds ? 2 : 1);
    (void)graph;
    j->asked++;
    if (!adds)
        j->last = product->id;
    cr_expect_eq(together->n_in, place + 1);
    cr_expect_str_eq(tsri_tensor_operands_of(product->id)->in[place].name,
                     adds ? "residual" : "norm");
    cr_expect(together->in[place] && together->in[place]->rank == (adds ? 2 : 1));
    cr_expect(apart->n_in <= place || !apart->in[place]);
    return j->asked <= j->together;
}

/* x, normed, times w: by a product of an op, whose norm's result is also read as `readers` says: BY_PRODUCT by another product. */
enum { ALONE, BY_PRODUCT, BY_OTHERS, BY_HOST, AS_PART };
static tsri_graph *normed_product(tsr_op_id id, int readers) {
    static const tsr_norm_attrs norm = {
        .struct_size = sizeof norm, .norm = TSR_NORM_RMS, .eps = 0.25f};
    static const tsr_linear_attrs linear = {
        .struct_size = sizeof linear, .trans_w = 1, .activation = TSR_ACT_SILU};
    static const tsr_glu_linear_attrs gated = {
        .struct_size = sizeof gated, .trans_w = 1, .activation = TSR_ACT_SILU};
    const void *attrs = id == TSR_OP_LINEAR ? (const void *)&linear : (const void *)&gated;
    tsri_graph *g;
    tsri_graph_create(&g);
    tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(8)});
    const tsri_value gain =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "gain", TSR_F32, 1, (tsr_dim[]){n(8)});
    const int64_t inputs = readers == AS_PART ? 4 : 8;
    const tsri_value w =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 1, "w", TSR_F32, 2, (tsr_dim[]){n(6), n(inputs)});
    const tsri_value bias =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 2, "b", TSR_F32, 1, (tsr_dim[]){n(6)});
    x = tsri_graph_op1(g, TSR_OP_RMS_NORM, &norm, (tsri_value[]){x, gain}, 2);
    if (readers == BY_HOST)
        tsri_graph_output(g, 1, "normed", x);
    if (readers == BY_OTHERS)
        tsri_graph_output(g, 1, "other", tsri_graph_op1(g, TSR_OP_SILU, NULL, &x, 1));
    if (readers == AS_PART)
        x = tsri_graph_slice(g, x, 1, 0, 4);
    if (readers == BY_PRODUCT)
        tsri_graph_output(g, 1, "other",
                          tsri_graph_op1(g, TSR_OP_LINEAR, &linear, (tsri_value[]){x, w}, 2));
    const tsri_value y = tsri_graph_op1(g, id, attrs, (tsri_value[]){x, w, bias}, 3);
    tsri_graph_output(g, 0, "y", y);
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    return g;
}

Test(graph, a_norm_joins_the_products_that_alone_read_it) {
    static const tsr_op_id products[] = {TSR_OP_LINEAR, TSR_OP_GLU_LINEAR};
    for (int i = 0; i < 2; i++)
        for (int readers = ALONE; readers <= AS_PART; readers++)
            for (int together = 0; together <= 2; together++) { /* all products, or none */
                const int n_products = readers == ALONE ? 1 : readers == BY_PRODUCT ? 2 : 0;
                joining j = {.together = together};
                tsri_graph *g = normed_product(products[i], readers), *joined, *low;
                cr_assert_eq(tsri_graph_join_norms(g, answer, &j, &joined), TSR_OK, "%s",
                             tsr_error_last());
                cr_expect_eq(j.asked, together < n_products ? together + 1 : n_products);
                const bool one = n_products && together >= n_products;
                cr_expect_eq(contains(joined, TSR_OP_RMS_NORM), !one);
                cr_expect_eq(tsri_graph_node_count(joined), tsri_graph_node_count(g) - one);
                cr_expect_eq(tsri_graph_output_count(joined), tsri_graph_output_count(g));
                for (int k = 0; one && k < n_products; k++) {
                    const tsri_graph_node *node = tsri_graph_node_at(joined, (size_t)k);
                    const float eps = node->id == TSR_OP_GLU_LINEAR
                                          ? ((const tsr_glu_linear_attrs *)node->attrs)->norm_eps
                                          : ((const tsr_linear_attrs *)node->attrs)->norm_eps;
                    cr_expect_eq(tsri_graph_value_at(joined, node->in[0])->id, 0);
                    cr_expect_float_eq(eps, 0.25, 0);
                }
                if (one) {
                    cr_expect_eq(j.last, products[i]);
                    /* what joins it comes apart again where no device takes both */
                    cr_assert_eq(tsri_graph_lower(joined, refuse_fused, NULL, &low), TSR_OK, "%s",
                                 tsr_error_last());
                    cr_expect(contains(low, TSR_OP_RMS_NORM) && contains(low, TSR_OP_MATMUL) &&
                              !contains(low, products[i]));
                    tsri_graph_destroy(&low);
                }
                tsri_graph_destroy(&joined);
                tsri_graph_destroy(&g);
            }
}

/* x += a w0; y = norm(x) w1: an add_norm between two products. */
static tsri_graph *added_product(bool first, tsr_norm kind, tsr_op_id before) {
    const tsr_norm_attrs norm = {.struct_size = sizeof norm, .norm = kind, .eps = 0.25f};
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs, .trans_w = 1};
    tsri_graph *g;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(8)}),
                     a = input(g, 1, 2, (tsr_dim[]){T, n(8)});
    const tsri_value gain =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "gain", TSR_F32, 1, (tsr_dim[]){n(8)});
    tsri_value w[2], sums[2];
    for (uint32_t i = 0; i < 2; i++)
        w[i] = tsri_graph_leaf(g, TSR_KIND_WEIGHT, 1 + i, "w", TSR_F32, 2, (tsr_dim[]){n(8), n(8)});
    const tsri_value addend = before == TSR_OP_LINEAR
                                  ? tsri_graph_op1(g, before, &attrs, (tsri_value[]){a, w[0]}, 2)
                                  : tsri_graph_op1(g, before, NULL, &a, 1);
    tsri_graph_op(g, TSR_OP_ADD_NORM, &norm,
                  (tsri_value[]){first ? addend : x, first ? x : addend, gain}, 3, 3, sums);
    tsri_graph_output(g, 0, "y",
                      tsri_graph_op1(g, TSR_OP_LINEAR, &attrs, (tsri_value[]){sums[1], w[1]}, 2));
    tsri_graph_output(g, 1, "x", sums[0]);
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    return g;
}

Test(graph, an_add_norm_becomes_a_residual_and_a_norm) {
    for (int first = 0; first < 2; first++)
        for (int together = 0; together <= 2; together++) { /* both products have to be better so */
            joining j = {.together = together};
            tsri_graph *g = added_product(first, TSR_NORM_RMS, TSR_OP_LINEAR), *joined;
            cr_assert_eq(tsri_graph_join_norms(g, answer, &j, &joined), TSR_OK, "%s",
                         tsr_error_last());
            cr_expect_eq(j.asked, together ? 2 : 1);
            cr_expect_eq(contains(joined, TSR_OP_ADD_NORM), together < 2);
            cr_expect_eq(tsri_graph_node_count(joined), together < 2 ? 3 : 2);
            cr_expect_eq(tsri_graph_output_count(joined), 2);
            if (together == 2) {
                const tsri_graph_node *adds = tsri_graph_node_at(joined, 0),
                                      *product = tsri_graph_node_at(joined, 1);
                cr_expect_eq(adds->n_in, 4);
                cr_expect_eq(tsri_graph_value_at(joined, adds->in[3])->id, 0); /* x */
                cr_expect_eq(product->in[0], adds->out[0]);
                cr_expect_eq(tsri_graph_output_at(joined, 1)->value, adds->out[0]);
                cr_expect_eq(tsri_graph_value_at(joined, product->in[4])->id, 0); /* gain */
            }
            tsri_graph_destroy(&joined);
            tsri_graph_destroy(&g);
        }
    /* a norm with a mean, and a sum of what is no product, stay */
    for (int i = 0; i < 2; i++) {
        joining j = {.together = 9};
        tsri_graph *joined, *g = i ? added_product(false, TSR_NORM_RMS, TSR_OP_SILU)
                                   : added_product(false, TSR_NORM_LAYER, TSR_OP_LINEAR);
        cr_assert_eq(tsri_graph_join_norms(g, answer, &j, &joined), TSR_OK);
        cr_expect(j.asked == 0 && contains(joined, TSR_OP_ADD_NORM));
        tsri_graph_destroy(&joined);
        tsri_graph_destroy(&g);
    }
}

static bool pack_norms(void *data, const tsri_graph *graph, const tsri_graph_node *node,
                       const tsr_op *with_views, const tsr_op *with_copies) {
    (void)graph;
    ++*(int *)data;
    cr_expect(!tsri_tensor_is_packed(with_views->in[0]) &&
              tsri_tensor_is_packed(with_copies->in[0]) && with_copies->in[0]->offset == 0);
    cr_expect(with_views->in[1] == with_copies->in[1]);
    return node->id == TSR_OP_RMS_NORM;
}

/* Heads of a product are a view with gaps: their norm may read a copy, what else reads it is as before. */
Test(graph, an_op_may_read_packed_copies) {
    const tsr_norm_attrs norm = {.struct_size = sizeof norm, .norm = TSR_NORM_RMS};
    tsri_graph *g, *packed;
    int asked = 0;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(24)}),
                     gain = tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "gain", TSR_F32, 1,
                                            (tsr_dim[]){n(4)}),
                     y = tsri_graph_op1(g, TSR_OP_SILU, NULL, &x, 1),
                     heads = tsri_graph_split(g, tsri_graph_slice(g, y, 1, 8, 12), 1, 3, 4),
                     leaf = tsri_graph_split(g, tsri_graph_slice(g, x, 1, 8, 12), 1, 3, 4);
    tsri_graph_output(g, 0, "heads",
                      tsri_graph_op1(g, TSR_OP_RMS_NORM, &norm, (tsri_value[]){heads, gain}, 2));
    tsri_graph_output(g, 1, "leaf",
                      tsri_graph_op1(g, TSR_OP_RMS_NORM, &norm, (tsri_value[]){leaf, gain}, 2));
    tsri_graph_output(g, 2, "y", y);
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_graph_pack_operands(g, pack_norms, &asked, &packed), TSR_OK, "%s",
                 tsr_error_last());
    cr_expect_eq(asked, 1); /* leaves have a memory of their own */
    cr_assert_eq(tsri_graph_node_count(packed), 4);
    const tsri_graph_node *copy = tsri_graph_node_at(packed, 1),
                          *normed = tsri_graph_node_at(packed, 2);
    cr_expect(copy->id == TSR_OP_COPY && normed->id == TSR_OP_RMS_NORM);
    cr_expect_eq(normed->in[0], copy->out[0]);
    cr_expect_eq(tsri_graph_output_count(packed), 3);
    tsri_graph_destroy(&packed);
    tsri_graph_destroy(&g);
}
