/* model/blocks/convolution.c - a convolution of the embeddings over neighbouring tokens, beside the first
 * layer (DeBERTa v2): the rows around each token are gathered side by side, those outside its sequence as
 * zeros, and multiplied with the weights as they are stored.
 *
 *     y[t,o] = bias[o] + sum_{i,j} w[o, i * taps + j] x[t + j - (taps - 1) / 2, i]
 *
 * source  transformers, modeling_deberta_v2.py: ConvLayer */
#include "model/blocks/builder.h"

#include "tensor/shape.h"

typedef tsri_model_builder builder;

/* The taps of each token, [B * T, C * taps]: the taps of an input side by side. */
static tsri_value columns_of(builder *b, tsri_value x) {
    const int64_t C = b->spec->width, taps = b->stack->conv_taps;
    const tsr_dim tokens = tsri_tensor_times(tsri_model_B(), b->T),
                  flat[] = {tokens, tsri_tensor_const(C)},
                  apart[] = {tokens, tsri_tensor_const(taps), tsri_tensor_const(C)},
                  together[] = {tokens, tsri_tensor_const(C * taps)};
    const tsri_value rows[] = {tsri_graph_reshape(b->graph, x, 2, flat),
                               tsri_model_input_of(b, TSRI_INPUT_TAPS)};
    const tsri_value seen[] = {tsri_graph_op1(b->graph, TSR_OP_GATHER, NULL, rows, 2),
                               tsri_model_input_of(b, TSRI_INPUT_TAP_MASK)};
    const tsri_value by_tap = tsri_graph_op1(b->graph, TSR_OP_MUL, NULL, seen, 2),
                     by_input = tsri_graph_permute(b->graph,
                                                   tsri_graph_reshape(b->graph, by_tap, 3, apart),
                                                   (uint32_t[]){0, 2, 1});
    return tsri_graph_reshape(b->graph, tsri_graph_op1(b->graph, TSR_OP_COPY, NULL, &by_input, 1),
                              2, together);
}

/* The products of groups: those of a group's inputs with its outputs' weights. */
static tsri_value grouped(builder *b, tsri_value columns, uint32_t id) {
    const int64_t C = b->spec->width, G = b->stack->conv_groups, taps = b->stack->conv_taps;
    const uint32_t turned[] = {1, 0, 2};
    const tsr_dim tokens = tsri_tensor_times(tsri_model_B(), b->T), groups = tsri_tensor_const(G),
                  inner = tsri_tensor_const(C / G * taps), outer = tsri_tensor_const(C / G),
                  of_tokens[] = {tokens, groups, inner}, of_weights[] = {groups, outer, inner},
                  flat[] = {tokens, tsri_tensor_const(C)};
    const tsr_matmul_attrs attrs = {.struct_size = sizeof attrs, .trans_b = 1, .alpha = 1};
    const tsri_value pair[] = {
        tsri_graph_permute(b->graph, tsri_graph_reshape(b->graph, columns, 3, of_tokens), turned),
        tsri_graph_reshape(b->graph, tsri_model_weight_leaf(b, id), 3, of_weights)};
    const tsri_value product = tsri_graph_permute(
        b->graph, tsri_graph_op1(b->graph, TSR_OP_MATMUL, &attrs, pair, 2), turned);
    const tsri_value together = tsri_graph_op1(b->graph, TSR_OP_COPY, NULL, &product, 1);
    const tsri_value sum[] = {tsri_graph_reshape(b->graph, together, 2, flat),
                              tsri_model_weight_leaf(b, id + 1)};
    return tsri_graph_op1(b->graph, TSR_OP_ADD, NULL, sum, 2);
}

void tsri_model_convolve(builder *b, tsri_value embedded) {
    const uint32_t id = tsri_model_stack_weight(b->stack, TSRI_STACK_CONV);
    const tsr_dim dims[] = {tsri_model_B(), b->T, tsri_tensor_const(b->spec->width)};
    tsri_model_stage(b, 0, "convolution");
    const tsri_value columns = columns_of(b, embedded),
                     rows = b->stack->conv_groups > 1
                                ? grouped(b, columns, id)
                                : tsri_model_linear(b, columns, id, TSR_ACT_NONE, TSRI_GRAPH_NONE),
                     y = tsri_model_drop(b, tsri_graph_reshape(b->graph, rows, 3, dims));
    tsri_model_add_norm(b, tsri_graph_activate(b->graph, b->stack->conv_activation, y),
                        tsri_model_stack_weight(b->stack, TSRI_STACK_CONV_NORM));
    b->x = b->y;
}
