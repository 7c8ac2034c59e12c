/* The builder: leaves and views, what a part of a graph has, the table of ops and their costs. */
#include "graph/make.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(graph, a_leaf_asked_for_again_is_the_same_value) {
    tsri_graph *g;
    cr_assert_eq(tsri_graph_create(&g), TSR_OK);
    const tsri_value a = input(g, 3, 2, (tsr_dim[]){B, n(8)});
    cr_assert_eq(input(g, 3, 2, (tsr_dim[]){B, n(8)}), a);
    cr_assert_eq(tsri_graph_status(g), TSR_OK);
    cr_assert_eq(input(g, 3, 2, (tsr_dim[]){B, n(9)}), TSRI_GRAPH_NONE);
    cr_assert_neq(tsri_graph_status(g), TSR_OK);
    tsri_graph_destroy(&g);
    cr_assert_null(g);
}

Test(graph, views_keep_storage_and_step_as_they_should) {
    tsri_graph *g;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 0, 3, (tsr_dim[]){B, T, n(24)});
    const tsri_value heads = tsri_graph_split(g, tsri_graph_slice(g, x, 2, 8, 12), 2, 3, 4);
    const tsr_tensor *t = &tsri_graph_value_at(g, heads)->tensor;
    cr_assert_eq(t->offset, 8);
    cr_assert_eq(t->stride[2].factor, 4);
    cr_assert_eq(t->stride[1].factor, 24);
    cr_assert(tsri_tensor_same_dim(t->stride[0], tsri_tensor_times(T, n(24))));
    cr_assert_eq(tsri_graph_value_at(g, heads)->storage, x);
    const tsri_value swapped =
        tsri_graph_expand(g, tsri_graph_permute(g, heads, (uint32_t[]){0, 2, 1, 3}), 2, n(5));
    t = &tsri_graph_value_at(g, swapped)->tensor;
    cr_assert_eq(t->rank, 5);
    cr_assert_eq(t->stride[2].factor, 0);
    cr_assert(tsri_tensor_same_dim(t->dim[3], T));
    const int64_t sizes[TSR_SYMBOLS] = {2, 7, 0, 0, 0};
    cr_assert_eq(tsri_tensor_extent(&tsri_graph_value_at(g, heads)->tensor, sizes),
                 4u * (13 * 24 + 20));
    cr_assert_eq(tsri_graph_status(g), TSR_OK);
    tsri_graph_destroy(&g);
}

/* Two parts: y = x + x, z = y * x by part 0; w = z + y, and a view of z as an output, by part 1. */
Test(graph, a_part_has_its_nodes_and_what_crosses) {
    const uint32_t part[] = {0, 0, 1, 1};
    tsri_graph *g, *first, *second;
    tsri_graph_crossing *crossings;
    size_t count;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 3, 2, (tsr_dim[]){B, n(8)}),
                     y = tsri_graph_op1(g, TSR_OP_ADD, NULL, (tsri_value[]){x, x}, 2),
                     z = tsri_graph_op1(g, TSR_OP_MUL, NULL, (tsri_value[]){y, x}, 2),
                     view = tsri_graph_split(g, z, 1, 2, 4),
                     w = tsri_graph_op1(g, TSR_OP_ADD, NULL, (tsri_value[]){z, y}, 2),
                     v = tsri_graph_op1(g, TSR_OP_COPY, NULL, &view, 1);
    tsri_graph_output(g, 0, "y", y);
    tsri_graph_output(g, 1, "w", w);
    tsri_graph_output(g, 2, "v", v);
    cr_assert_eq(tsri_graph_status(g), TSR_OK);
    cr_assert_eq(tsri_graph_find_crossings(g, part, &crossings, &count), TSR_OK);
    cr_assert_eq(count, 2, "%zu", count); /* each once, though z is read by two nodes */
    cr_expect(crossings[0].value == y && crossings[1].value == z);
    cr_expect(crossings[0].from == 0 && crossings[0].to == 1);
    cr_assert_eq(tsri_graph_cut(g, part, 0, crossings, count, &first), TSR_OK);
    cr_assert_eq(tsri_graph_cut(g, part, 1, crossings, count, &second), TSR_OK);
    cr_expect_eq(tsri_graph_node_count(first), 2);
    cr_assert_eq(tsri_graph_output_count(first), 3); /* y for the host, y and z for part 1 */
    cr_expect_eq(tsri_graph_output_at(first, 0)->id, 0);
    cr_expect_eq(tsri_graph_output_at(first, 1)->id, crossings[0].id);
    cr_expect_eq(tsri_graph_output_at(first, 2)->id, crossings[1].id);
    cr_expect_eq(tsri_graph_node_count(second), 2);
    cr_assert_eq(tsri_graph_output_count(second), 2);
    const tsri_graph_node *adds = tsri_graph_node_at(second, 0),
                          *copies = tsri_graph_node_at(second, 1);
    for (int i = 0; i < 2; i++) { /* of z and y */
        const tsri_graph_value *leaf = tsri_graph_value_at(second, adds->in[i]);
        cr_expect(leaf->tensor.kind == TSR_KIND_INPUT && leaf->id == crossings[1 - i].id);
    }
    const tsri_graph_value *viewed = tsri_graph_value_at(second, copies->in[0]);
    cr_expect(viewed->storage == adds->in[0] && viewed->tensor.rank == 3);
    free(crossings);
    tsri_graph_destroy(&first);
    tsri_graph_destroy(&second);
    tsri_graph_destroy(&g);
}

Test(graph, the_table_holds_each_op_once) {
    for (size_t i = 0; i < tsri_graph_op_count(); i++) {
        const tsri_graph_op_row *row = tsri_graph_op_at(i);
        cr_assert_eq(tsri_graph_op_find(row->id), row);
        cr_assert_eq(tsri_graph_op_named(row->name), row);
        cr_assert_not_null(row->infer);
        cr_assert_not_null(row->cost, "%s has no cost", row->name);
        cr_assert_leq(tsri_tensor_operands_of(row->id)->n_in, TSRI_GRAPH_MAX_OPERANDS);
    }
    cr_assert_null(tsri_graph_op_find((tsr_op_id)9999));
    cr_assert_null(tsri_graph_op_named("convolution"));
}

Test(graph, costs_count_a_multiply_add_as_two) {
    tsri_graph *g;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(32)});
    const tsri_value w =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "w", TSR_F32, 2, (tsr_dim[]){n(8), n(32)});
    const tsr_linear_attrs attrs = {.struct_size = sizeof attrs, .trans_w = 1};
    tsri_graph_op1(g, TSR_OP_LINEAR, &attrs, (tsri_value[]){x, w}, 2);
    tsri_graph_op_store store;
    const int64_t sizes[TSR_SYMBOLS] = {1, 5, 1, 1, 1};
    const tsri_graph_cost cost =
        tsri_graph_op_linear.cost(tsri_graph_as_op(g, tsri_graph_node_at(g, 0), &store), sizes);
    cr_assert_float_eq(cost.flops, 2.0 * 5 * 32 * 8, 0.5);
    cr_assert_float_eq(cost.bytes, 4.0 * (5 * 32 + 32 * 8 + 5 * 8), 0.5);
    tsri_graph_destroy(&g);
}
