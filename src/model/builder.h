/* model/builder.h - what the blocks share while they build a graph from a spec. */
#ifndef TSRI_MODEL_BUILDER_H
#define TSRI_MODEL_BUILDER_H

#include "model/blocks.h"

typedef struct tsri_model_builder {
    tsri_graph *graph;
    const tsri_model_weights *weights;
    const tsri_model_spec *spec;
    const tsri_model_stack *stack; /* at hand */
    const tsri_model_shape *shape;
    tsri_value x, y; /* the residual stream, and what the next part reads: x after its norm */
    bool picked;     /* they hold the wanted rows only */
} tsri_model_builder;

tsr_dim tsri_model_B(void);
tsr_dim tsri_model_T(void);

/* The ops that follow are called "layers.3.attention" and run where layer 3 does. */
void tsri_model_stage(tsri_model_builder *b, int32_t layer, const char *part);

/* A leaf, made when it is first asked for. */
tsri_value tsri_model_input_of(tsri_model_builder *b, tsri_model_input id);
/* NONE for a weight that the model lacks: a missing bias. */
tsri_value tsri_model_weight_leaf(tsri_model_builder *b, uint32_t id);
/* Whether the model has it. */
bool tsri_model_builder_has(const tsri_model_builder *b, uint32_t id);

/* tsr_compute of products with this weight. */
uint32_t tsri_model_products(const tsri_model_builder *b, uint32_t id);
/* act(x w + bias) + residual; the bias is weight id + 1. */
tsri_value tsri_model_linear(tsri_model_builder *b, tsri_value x, uint32_t id,
                             tsr_activation activation, tsri_value residual);
tsri_value tsri_model_norm(tsri_model_builder *b, tsri_value x, uint32_t id);
/* x += addend, y = norm x, as one op. */
void tsri_model_add_norm(tsri_model_builder *b, tsri_value addend, uint32_t id);
/* table[ids] * scale */
tsri_value tsri_model_lookup(tsri_model_builder *b, uint32_t table, tsri_model_input ids,
                             float scale);
/* The rows of [B,T,columns] that are wanted out, as [N,columns]. */
tsri_value tsri_model_pick(tsri_model_builder *b, tsri_value x, int64_t columns);

/* blocks_recurrent.c: a recurrent stack; what its decoder keeps of a source. */
void tsri_model_recurrent_stack(tsri_model_builder *b);
void tsri_model_recurrent_source(tsri_model_builder *b);

/* heads.c: what is made of the last hidden states y. */
void tsri_model_output_heads(tsri_model_builder *b);
void tsri_model_encoder_heads(tsri_model_builder *b);

#endif
