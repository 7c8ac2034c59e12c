/* model/blocks/builder.h - what the blocks share while they build a graph from a spec. */
#ifndef TSRI_MODEL_BLOCKS_BUILDER_H
#define TSRI_MODEL_BLOCKS_BUILDER_H

#include "model/blocks/learning.h"
#include "model/weights/tables.h"

typedef struct tsri_model_builder {
    tsri_graph *graph;
    const tsri_model_weights *weights;
    const tsri_model_spec *spec;
    const tsri_model_stack *stack; /* the stack that is being built */
    const tsri_model_shape *shape;
    tsr_dim T;            /* tokens of a sequence of this stack */
    uint32_t sites;       /* places with dropout so far */
    tsri_value relative;  /* bias by distance of the stack, or the layer, that is being built */
    tsri_value distances; /* the rows of disentangled attention's table, after their norm */
    tsri_value source;    /* the encoder's output, in a training graph */
    tsri_value x, y;      /* the residual stream, and what the next part reads: x after its norm */
    bool picked;          /* they hold only the wanted rows */
} tsri_model_builder;

/* Where a layer's queries (0) and keys (1) are: in products [.., columns], heads side by side from this column
 * on. */
typedef struct tsri_model_sides {
    tsri_value product[2];
    int64_t columns[2], first[2];
} tsri_model_sides;

tsr_dim tsri_model_B(void);
tsr_dim tsri_model_T(void);

/* The ops that follow have this label, and run where this layer of a stack does; -1: where the first
 * layer of all does. */
void tsri_model_scope(tsri_model_builder *b, const tsri_model_stack *stack, int32_t layer,
                      const char *label);
/* The same for the stack that is being built; they are named "layers.3.attention". */
void tsri_model_stage(tsri_model_builder *b, int32_t layer, const char *part);

/* The leaf of an input, made when it is first asked for. */
tsri_value tsri_model_input_of(tsri_model_builder *b, tsri_model_input id);
/* Of disentangled attention: the rows of distances that the graph has. */
tsri_model_distances tsri_model_builder_distances(const tsri_model_builder *b);
/* The leaf of a weight; NONE if the model lacks it, such as a missing bias. */
tsri_value tsri_model_weight_leaf(tsri_model_builder *b, uint32_t id);
/* The id of a layer's weight of the stack that is being built. */
uint32_t tsri_model_builder_weight(const tsri_model_builder *b, int32_t layer,
                                   tsri_model_role role);
/* Whether the model has the weight. */
bool tsri_model_builder_has(const tsri_model_builder *b, uint32_t id);
/* Whether adapters add something to products with the weight, beside it (model/weights/beside.h). */
bool tsri_model_builder_has_beside(const tsri_model_builder *b, uint32_t id);

/* The tsr_compute of products with this weight. */
uint32_t tsri_model_products(const tsri_model_builder *b, uint32_t id);
/* That of attention whose queries are such products: floats of any kind, not int8. */
uint32_t tsri_model_attention_products(const tsri_model_builder *b, uint32_t id);
/* act(x w + bias) + residual, with what adapters add to x w; the bias is weight id + 1. */
tsri_value tsri_model_linear(tsri_model_builder *b, tsri_value x, uint32_t id,
                             tsr_activation activation, tsri_value residual);
tsri_value tsri_model_norm(tsri_model_builder *b, tsri_value x, uint32_t id);
/* x += addend, y = norm x, as one op. */
void tsri_model_add_norm(tsri_model_builder *b, tsri_value addend, uint32_t id);
/* table[ids] * scale */
tsri_value tsri_model_lookup(tsri_model_builder *b, uint32_t table, tsri_model_input ids,
                             float scale);
/* The wanted rows of [B,T,columns], as [N,columns]. */
tsri_value tsri_model_pick(tsri_model_builder *b, tsri_value x, int64_t columns);

/* How this layer rotates queries and keys as a whole, with the inverse frequencies; `frequencies` is NONE and
 * attrs->rotary 0 if it does not: also where their parts are rotated before. */
tsr_rope_attrs tsri_model_rotation_of(tsri_model_builder *b, int32_t layer,
                                      tsri_value *frequencies);
/* Queries or keys [B,T,heads,D], rotated by the run's positions if the layer rotates them as a whole; and
 * their part that the layer rotates. */
tsri_value tsri_model_rotated(tsri_model_builder *b, int32_t layer, tsri_value x);
tsri_value tsri_model_rotated_part(tsri_model_builder *b, int32_t layer, tsri_value x);
/* x * alpha; x itself if alpha is 1. */
tsri_value tsri_model_scaled(tsri_model_builder *b, tsri_value x, float alpha);

/* experts.c: what the experts of a layer give for x; `shared` is what the expert that every token takes
 * gives, before its factor; NONE: there is none. */
tsri_value tsri_model_experts(tsri_model_builder *b, int32_t layer, tsri_value x,
                              tsri_value shared);

/* latent.c: queries [B,T,H,D], keys [B,T,H,D] and values [B,T,H,Dv] of latent attention, already rotated. */
void tsri_model_latent_heads(tsri_model_builder *b, int32_t layer, tsri_value out[3]);

/* recurrent.c: a recurrent stack, and what its decoder keeps of a source. */
void tsri_model_recurrent_stack(tsri_model_builder *b);
void tsri_model_recurrent_source(tsri_model_builder *b);

/* What a training graph adds; in inference x itself, or NONE. */
tsri_value tsri_model_drop(tsri_model_builder *b, tsri_value x);
tsri_value tsri_model_drop_inner(tsri_model_builder *b, tsri_value x);
tsri_value tsri_model_parameter(tsri_model_builder *b, uint32_t id);

/* learning.c: parts of a layer of a training graph. */
/* The bias by distance of this layer, or of all (-1); where it learns, made from its buckets. NONE: the
 * stack has none. */
tsri_value tsri_model_relative_bias(tsri_model_builder *b, int32_t layer);
/* The inner states of the feed-forward part: its first product, activation and gate as separate
 * ops; also of a graph that does not learn, where adapters add to the product. */
tsri_value tsri_model_inner(tsri_model_builder *b, tsri_value x, uint32_t up);
/* Attention among a stack's own tokens, or to the source's tokens. `bias`, [B,H,T,S], is added to scores, and
 * learns; or NONE. */
tsri_value tsri_model_own_attention(tsri_model_builder *b, int32_t layer, tsri_value q,
                                    tsri_value k, tsri_value v, tsri_value bias,
                                    tsri_value relative);
tsri_value tsri_model_source_attention(tsri_model_builder *b, int32_t layer, tsri_value q,
                                       tsri_value k, tsri_value v);

/* distances.c: begins a stack with disentangled attention; what such attention adds to the scores of a
 * layer, from products [B,T,columns]. */
void tsri_model_begin_distances(tsri_model_builder *b);
tsri_value tsri_model_distance_scores(tsri_model_builder *b, int32_t layer,
                                      const tsri_model_sides *sides);
/* convolution.c: adds to the stream, which the first layer gave, the convolution of `embedded`, and applies
 * the norm. */
void tsri_model_convolve(tsri_model_builder *b, tsri_value embedded);
/* heads.c: what is computed from the last hidden states y. */
/* The logits of a language model's rows; and the product with the vocabulary alone, which `activation`
 * is applied to. */
tsri_value tsri_model_logits(tsri_model_builder *b, tsri_value rows);
tsri_value tsri_model_vocabulary(tsri_model_builder *b, tsri_value rows, tsr_activation activation);
/* The masked LM head's rows before the product with the vocabulary; the numbers of the classifier's
 * labels, for each sequence or each picked token. */
tsri_value tsri_model_masked_rows(tsri_model_builder *b, tsri_value rows);
tsri_value tsri_model_labels_of(tsri_model_builder *b);
void tsri_model_output_heads(tsri_model_builder *b);
void tsri_model_encoder_heads(tsri_model_builder *b);

/* blocks.c: both stacks of a training graph, up to the last hidden states; the caller continues
 * with the builder and owns its graph. */
tsr_status tsri_model_build_stacks(const tsri_model_weights *weights, const tsri_model_shape *shape,
                                   tsri_model_builder *out);

#endif
