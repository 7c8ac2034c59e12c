/* model/blocks/distances.c - disentangled attention: what scores have from the distance of two tokens and the
 * content of one of them. A distance's query and key are those that the layer makes of its row, by the matrices of
 * its tokens or by others.
 *
 * source  He et al. 2021, arXiv:2006.03654 */
#include "model/blocks/builder.h"

#include "tensor/shape.h"

typedef tsri_model_builder builder;

void tsri_model_begin_distances(builder *b) {
    const uint32_t table = tsri_model_stack_weight(b->stack, TSRI_STACK_DISTANCES),
                   norm = tsri_model_stack_weight(b->stack, TSRI_STACK_DISTANCE_NORM);
    b->distances = TSRI_GRAPH_NONE;
    if (!b->stack->distance_span)
        return;
    tsri_graph_scope(b->graph, -1, "distances");
    b->distances = tsri_model_lookup(b, table, TSRI_INPUT_DISTANCES, 1);
    if (b->stack->distance_norm)
        b->distances = tsri_model_norm(b, b->distances, norm);
}

/* The queries (i 0) or keys (1) among rows [R, columns], as [H,R,D]. */
static tsri_value side_of(builder *b, tsri_value rows, int64_t first) {
    const int64_t H = b->stack->heads, D = b->stack->head_size;
    const tsri_value heads =
        tsri_graph_split(b->graph, tsri_graph_slice(b->graph, rows, 1, first, H * D), 1, H, D);
    return tsri_graph_permute(b->graph, heads, (uint32_t[]){1, 0, 2});
}

/* The queries and keys that a layer makes of the distances' rows. */
static tsri_model_sides sides_of_distances(builder *b, int32_t layer) {
    const tsri_model_stack *stack = b->stack;
    const int64_t width = (int64_t)stack->heads * stack->head_size;
    const tsri_model_role roles[] = {stack->distance_apart ? TSRI_ROLE_DISTANCE_QK : TSRI_ROLE_QKV,
                                     TSRI_ROLE_DISTANCE_K};
    tsri_model_sides sides = {.first = {0, stack->keys_unbiased ? 0 : width}};
    for (int i = 0; i < 2; i++)
        sides.product[i] =
            i && !stack->keys_unbiased
                ? sides.product[0]
                : tsri_model_linear(b, b->distances,
                                    tsri_model_layer_weight(b->spec, stack, layer, roles[i]),
                                    TSR_ACT_NONE, TSRI_GRAPH_NONE);
    return sides;
}

tsri_value tsri_model_distance_scores(builder *b, int32_t layer, const tsri_model_sides *sides) {
    static const uint32_t batch_first[] = {1, 0, 2, 3};
    const tsr_dim P = tsri_tensor_const(tsri_model_builder_distances(b).rows),
                  apart[] = {tsri_tensor_const(b->stack->heads), tsri_model_B(), b->T, P};
    const tsr_matmul_attrs attrs = {
        .struct_size = sizeof attrs, .trans_b = 1, .alpha = b->stack->attention_scale};
    tsri_model_stage(b, layer, "distances");
    const tsri_model_sides rows = sides_of_distances(b, layer);
    tsri_value in[3];
    tsri_model_stage(b, layer, "distance_scores");
    for (int i = 0; i < 2; i++) {
        const tsr_dim flat[] = {tsri_tensor_times(tsri_model_B(), b->T),
                                tsri_tensor_const(sides->columns[i])};
        const tsri_value tokens = tsri_graph_reshape(b->graph, sides->product[i], 2, flat);
        const tsri_value pair[] = {side_of(b, tokens, sides->first[i]),
                                   side_of(b, rows.product[1 - i], rows.first[1 - i])};
        const tsri_value product = tsri_graph_op1(b->graph, TSR_OP_MATMUL, &attrs, pair, 2);
        in[i] = tsri_graph_permute(b->graph, tsri_graph_reshape(b->graph, product, 4, apart),
                                   batch_first);
    }
    in[1] = tsri_graph_as_keys(b->graph, in[1], 2, b->T);
    in[2] = tsri_model_input_of(b, TSRI_INPUT_PLACES);
    return tsri_graph_op1(b->graph, TSR_OP_DISTANCE_SCORES, NULL, in, 3);
}
