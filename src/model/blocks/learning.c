/* model/blocks/learning.c - the parts of a layer that a training graph computes differently: with
 * keys and values of the run itself, and with activations as separate ops. */
#include "model/blocks/builder.h"

#include "tensor/shape.h"

typedef tsri_model_builder builder;

tsri_value tsri_model_inner(builder *b, tsri_value x, uint32_t up) {
    const tsri_value product = tsri_model_linear(b, x, up, TSR_ACT_NONE, TSRI_GRAPH_NONE);
    const tsr_activation_attrs attrs = {.struct_size = sizeof attrs,
                                        .activation = b->stack->activation,
                                        .limit = b->stack->gate_limit,
                                        .alpha = b->stack->gate_alpha,
                                        .shift = b->stack->gate_shift};
    return tsri_model_drop_inner(
        b, b->stack->gated ? tsri_graph_op1(b->graph, TSR_OP_GLU, &attrs, &product, 1)
                           : tsri_graph_activate(b->graph, b->stack->activation, product));
}

enum { INPUTS = 10, BIAS = 7 }; /* op.h's attention */

/* Attention, [B,T,H*Dv] from [B,T,H,Dv], with the lse that the backward pass reads. The op gives a bias no
 * gradient; the steps that it consists of do. */
static tsri_value attend(builder *b, const tsr_attention_attrs *attrs, const tsri_value *in) {
    tsri_value out[2], probabilities;
    const bool gradients = b->shape->learning->gradients;
    if (in[BIAS] != TSRI_GRAPH_NONE)
        tsri_graph_attention_steps(b->graph, attrs, in, INPUTS, &probabilities, &out[0]);
    else
        tsri_graph_op(b->graph, TSR_OP_ATTENTION, attrs, in, INPUTS, gradients ? 2 : 0, out);
    const tsr_dim merged[] = {tsri_model_B(), b->T,
                              tsri_tensor_const((int64_t)b->stack->heads * b->stack->value_size)};
    return tsri_graph_reshape(b->graph, out[0], 3, merged);
}

tsri_value tsri_model_own_attention(builder *b, int32_t layer, tsri_value q, tsri_value k,
                                    tsri_value v, tsri_value bias, tsri_value relative) {
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs,
                                       .causal = b->stack->causal,
                                       .window = (uint32_t)tsri_model_layer_window(b->stack, layer),
                                       .scale = b->stack->attention_scale,
                                       .soft_cap = b->stack->score_cap};
    tsri_model_stage(b, layer, "rope");
    q = tsri_model_rotated(b, layer, q);
    k = tsri_model_rotated(b, layer, k);
    tsri_model_stage(b, layer, "attention");
    const tsri_value in[] = {
        q,
        k,
        v,
        TSRI_GRAPH_NONE,
        tsri_model_input_of(b, TSRI_INPUT_LEN),
        TSRI_GRAPH_NONE,
        TSRI_GRAPH_NONE,
        bias,
        relative,
        tsri_model_weight_leaf(b, tsri_model_builder_weight(b, layer, TSRI_ROLE_SINKS))};
    return attend(b, &attrs, in);
}

tsri_value tsri_model_source_attention(builder *b, int32_t layer, tsri_value q, tsri_value k,
                                       tsri_value v) {
    const tsr_attention_attrs attrs = {.struct_size = sizeof attrs,
                                       .scale = b->stack->attention_scale};
    tsri_model_stage(b, layer, "cross_attention");
    const tsri_value in[] = {q,
                             k,
                             v,
                             TSRI_GRAPH_NONE,
                             tsri_model_input_of(b, TSRI_INPUT_SOURCE_LEN),
                             TSRI_GRAPH_NONE,
                             TSRI_GRAPH_NONE,
                             TSRI_GRAPH_NONE,
                             TSRI_GRAPH_NONE,
                             TSRI_GRAPH_NONE};
    return attend(b, &attrs, in);
}

tsri_value tsri_model_relative_bias(builder *b, int32_t layer) {
    const uint32_t id = layer < 0 ? tsri_model_stack_weight(b->stack, TSRI_STACK_RELATIVE)
                                  : tsri_model_builder_weight(b, layer, TSRI_ROLE_RELATIVE);
    const tsri_value table = tsri_model_parameter(b, id + 1);
    if (table == TSRI_GRAPH_NONE)
        return tsri_model_weight_leaf(b, id);
    const bool own = b->stack->side == TSRI_SIDE_DECODER && b->spec->encoder.layers;
    const tsr_embed_attrs attrs = {.struct_size = sizeof attrs};
    if (layer < 0)
        tsri_graph_scope(b->graph, -1, "relative");
    else
        tsri_model_stage(b, layer, "relative");
    const tsri_value rows =
        tsri_graph_op1(b->graph, TSR_OP_EMBED, &attrs,
                       (tsri_value[]){table, tsri_model_input_of(b, own ? TSRI_INPUT_OWN_BUCKETS
                                                                        : TSRI_INPUT_BUCKETS)},
                       2);
    const tsri_value turned = tsri_graph_permute(b->graph, rows, (uint32_t[]){1, 0});
    return tsri_graph_op1(b->graph, TSR_OP_COPY, NULL, &turned, 1);
}
