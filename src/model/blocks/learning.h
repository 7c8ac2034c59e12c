/* model/blocks/learning.h - what training adds to the graph that the blocks build: its parameters,
 * terms added to products, and dropout. src/train fills it in. */
#ifndef TSRI_MODEL_BLOCKS_LEARNING_H
#define TSRI_MODEL_BLOCKS_LEARNING_H

#include "model/blocks/blocks.h"

struct tsri_model_builder;

typedef enum tsri_model_dropped {
    TSRI_DROPPED_BRANCH = 0, /* the embedding, or what a residual branch adds */
    TSRI_DROPPED_INNER       /* between the feed-forward part's two products */
} tsri_model_dropped;

typedef struct tsri_model_learning {
    int32_t steps;    /* of a recurrent decoder: tokens of each sequence; else 0: any number */
    uint32_t compute; /* tsr_compute of matrix products */
    bool gradients;   /* attention also gives the log-sum-exp that its backward pass reads */
    /* The state that holds weight `id`, if it learns. NONE: the weight is the same as in
     * inference. */
    tsri_value (*parameter)(struct tsri_model_builder *b, uint32_t id);
    /* The term that is added to the product of x with weight `id`, as LoRA does; or NONE. */
    tsri_value (*addend)(struct tsri_model_builder *b, tsri_value x, uint32_t id);
    /* x after dropout, or x itself if there is none. x may be NONE. */
    tsri_value (*drop)(struct tsri_model_builder *b, tsri_value x, tsri_model_dropped what);
} tsri_model_learning;

#endif
