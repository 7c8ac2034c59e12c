/* Lowering: what a device refuses becomes simpler ops, which give the same. */
#include "graph/make.h"

#include "base/error.h"

#include <criterion/criterion.h>
#include <string.h>

Test(graph, lowering_ends_in_primitives_and_keeps_outputs) {
    tsri_graph *g, *low;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 0, 3, (tsr_dim[]){B, T, n(16)});
    const tsri_value w =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "w", TSR_F16, 2, (tsr_dim[]){n(24), n(16)});
    const tsri_value bias =
        tsri_graph_leaf(g, TSR_KIND_WEIGHT, 1, "b", TSR_F32, 1, (tsr_dim[]){n(24)});
    const tsr_glu_linear_attrs glu = {
        .struct_size = sizeof glu, .trans_w = 1, .activation = TSR_ACT_SILU};
    const tsri_value y = tsri_graph_op1(g, TSR_OP_GLU_LINEAR, &glu, (tsri_value[]){x, w, bias}, 3);
    const tsri_value heads = tsri_graph_split(g, y, 2, 3, 4);
    const tsr_attention_attrs attention = {
        .struct_size = sizeof attention, .causal = 1, .scale = 0.5f};
    const tsri_value z =
        tsri_graph_op1(g, TSR_OP_ATTENTION, &attention, (tsri_value[]){heads, heads, heads}, 3);
    tsri_graph_output(g, 7, "z", tsri_graph_reshape(g, z, 3, (tsr_dim[]){B, T, n(12)}));
    cr_assert_eq(tsri_graph_status(g), TSR_OK, "%s", tsr_error_last());
    cr_assert_eq(tsri_graph_node_count(g), 2);
    cr_assert_eq(tsri_graph_lower(g, refuse_fused, NULL, &low), TSR_OK, "%s", tsr_error_last());
    for (size_t i = 0; i < tsri_graph_node_count(low); i++)
        cr_assert_null(tsri_graph_op_find(tsri_graph_node_at(low, i)->id)->decompose);
    cr_assert(contains(low, TSR_OP_MATMUL) && contains(low, TSR_OP_SILU) &&
              contains(low, TSR_OP_SOFTMAX) && contains(low, TSR_OP_COPY));
    cr_assert_eq(tsri_graph_output_count(low), 1);
    const tsr_tensor *out = &tsri_graph_value_at(low, tsri_graph_output_at(low, 0)->value)->tensor;
    cr_assert_eq(out->rank, 3);
    cr_assert(tsri_tensor_same_dim(out->dim[2], n(12)));
    /* The heads' results lie by head; what stands for attention's storage lies by token. */
    const tsri_graph_value *whole = tsri_graph_value_at(
        low, tsri_graph_value_at(low, tsri_graph_output_at(low, 0)->value)->storage);
    cr_assert(tsri_tensor_is_packed(&whole->tensor) && whole->tensor.rank == 4);
    cr_assert(tsri_tensor_same_dim(whole->tensor.dim[1], T) &&
              tsri_tensor_same_dim(whole->tensor.dim[2], n(3)));
    tsri_graph_destroy(&g);
    tsri_graph_destroy(&low);
}

/* A limit, an alpha or a shift goes on to the op that follows the product. */
Test(graph, gates_keep_their_form_when_they_are_lowered) {
    const tsr_glu_linear_attrs forms[] = {
        {.struct_size = sizeof *forms, .trans_w = 1, .activation = TSR_ACT_SILU, .limit = 7},
        {.struct_size = sizeof *forms, .trans_w = 1, .activation = TSR_ACT_SILU, .alpha = 1.702f},
        {.struct_size = sizeof *forms, .trans_w = 1, .activation = TSR_ACT_GELU, .shift = 1}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        tsri_graph *g, *low;
        tsri_graph_create(&g);
        const tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(16)});
        const tsri_value w =
            tsri_graph_leaf(g, TSR_KIND_WEIGHT, 0, "w", TSR_F32, 2, (tsr_dim[]){n(24), n(16)});
        tsri_graph_output(g, 0, "y",
                          tsri_graph_op1(g, TSR_OP_GLU_LINEAR, &forms[i], (tsri_value[]){x, w}, 2));
        cr_assert_eq(tsri_graph_lower(g, refuse_fused, NULL, &low), TSR_OK, "%s", tsr_error_last());
        const tsri_graph_node *last = tsri_graph_node_at(low, tsri_graph_node_count(low) - 1);
        const tsr_activation_attrs *attrs = last->attrs;
        cr_assert_eq(last->id, TSR_OP_GLU);
        cr_expect(attrs->activation == forms[i].activation && attrs->limit == forms[i].limit &&
                  attrs->alpha == forms[i].alpha && attrs->shift == forms[i].shift);
        tsri_graph_destroy(&g);
        tsri_graph_destroy(&low);
    }
    const tsr_activation_attrs wrong = {.struct_size = sizeof wrong, .limit = -1};
    tsri_graph *g;
    tsri_graph_create(&g);
    const tsri_value x = input(g, 0, 2, (tsr_dim[]){T, n(16)});
    cr_assert_eq(tsri_graph_op1(g, TSR_OP_GLU, &wrong, &x, 1), TSRI_GRAPH_NONE);
    cr_assert(strstr(tsr_error_last(), "glu: limit is -1"), "%s", tsr_error_last());
    tsri_graph_destroy(&g);
}
