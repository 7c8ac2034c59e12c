/* model/weights/define.h - the parts of a model's table of weights: each function finds the arrays of one part by
 * the family's names, and enters its weights. weights.c calls them in the order in which a new model's file has its
 * arrays. */
#ifndef TSRI_MODEL_WEIGHTS_DEFINE_H
#define TSRI_MODEL_WEIGHTS_DEFINE_H

#include "model/weights/arrays_by_name.h"

/* One layer of a stack, while its weights are searched for. */
typedef struct tsri_model_place {
    tsri_model_finder *finder;
    const tsri_model_stack *stack;
    int32_t layer;  /* the first layer that has these weights */
    int32_t number; /* the number in the names of its arrays */
} tsri_model_place;

/* ---- define.c: single weights ---- */

/* The id of a layer's weight. */
uint32_t tsri_model_place_id(const tsri_model_place *place, tsri_model_role role);
/* Defines a layer's matrix from all sources' rows, and its bias (the next role) if it has one. */
tsr_status tsri_model_define(const tsri_model_place *place, tsri_model_role role, const char *title,
                             const tsri_model_source *sources, int n, int64_t columns, bool bias);
/* Defines a norm's weight and, if the stack's norms have one, its bias (id + 1). */
tsr_status tsri_model_define_norm(tsri_model_finder *finder, const tsri_model_stack *stack,
                                  uint32_t id, int32_t layer, const char *title,
                                  const char *pattern, int64_t width);
/* The same for a norm of a layer, as wide as the model. */
tsr_status tsri_model_define_layer_norm(const tsri_model_place *place, tsri_model_role role,
                                        const char *title, const char *pattern);

/* ---- attention.c ---- */

/* Queries, keys and values of a layer's own tokens; without the matrix behind them. */
tsr_status tsri_model_define_attention(const tsri_model_place *place);
/* What attends to an encoder's output, with its norm. */
tsr_status tsri_model_define_cross(const tsri_model_place *place);

/* ---- latent.c ---- */

/* What latent attention has in place of these, without the matrix behind it. */
tsr_status tsri_model_define_latent(const tsri_model_place *place);

/* ---- feed_forward.c ---- */

/* A layer's feed-forward part: one, or a router and experts. */
tsr_status tsri_model_define_feed_forward(const tsri_model_place *place);

/* ---- positions.c ---- */

/* The table of positions, of `width` columns, learned or computed; rotary positions have none. */
tsr_status tsri_model_define_positions(tsri_model_finder *finder, const tsri_model_stack *stack,
                                       int64_t width);
/* The bias by distance of a layer, or of all (-1), as weight `id`, and the table that it is expanded from, as the
 * next. */
tsr_status tsri_model_define_relative(tsri_model_finder *finder, const tsri_model_stack *stack,
                                      int32_t layer, uint32_t id);
/* Biases by distance that all layers share, and the table of disentangled attention. */
tsr_status tsri_model_define_distances(tsri_model_finder *finder, const tsri_model_stack *stack);
/* The rotary frequencies, as a weight, divided by the file's factors if it has them. */
tsr_status tsri_model_define_frequencies(tsri_model_finder *finder, const tsri_model_stack *stack);

/* ---- stack.c ---- */

/* Everything that belongs to one stack. */
tsr_status tsri_model_define_stack(tsri_model_finder *finder, const tsri_model_stack *stack,
                                   const tsri_model_names *names);

/* ---- heads.c ---- */

/* Defines a dense layer of the whole model if the file has it, or if it is needed. A file that lacks only its bias
 * is damaged, where the family's heads have biases. */
tsr_status tsri_model_define_dense(tsri_model_finder *finder, uint32_t id, const char *title,
                                   const char *pattern, int64_t outputs, int64_t inputs,
                                   bool needed);
/* The heads of BERT and its relatives that the file has. */
tsr_status tsri_model_define_heads(tsri_model_finder *finder);
/* The output matrix: of every decoder that is not a bare base model, and of a masked LM head. */
tsr_status tsri_model_define_output(tsri_model_finder *finder);

#endif
