/* model/blocks.h - the graph of a model, built from its spec: the blocks are written once for all
 * families. */
#ifndef TSRI_MODEL_BLOCKS_H
#define TSRI_MODEL_BLOCKS_H

#include "model/weights.h"

/* Inputs of the graph. Each is int32 but FREQUENCIES (f32). */
typedef enum tsri_model_input {
    TSRI_INPUT_IDS = 0,    /* [B, T]; what pads a short sequence is 0 */
    TSRI_INPUT_POSITIONS,  /* [B, T] */
    TSRI_INPUT_PAST,       /* [B] tokens of the slot before these */
    TSRI_INPUT_LEN,        /* [B] past and these */
    TSRI_INPUT_SLOT,       /* [B] */
    TSRI_INPUT_ROWS,       /* [N] rows of [B * T] whose logits are wanted */
    TSRI_INPUT_FREQUENCIES /* [rotary / 2], where the scaling depends on the length */
} tsri_model_input;
enum { TSRI_INPUT_COUNT = 7 };

typedef enum tsri_model_output {
    TSRI_OUTPUT_LOGITS = 0,
    TSRI_OUTPUT_ARGMAX,
    TSRI_OUTPUT_TOP_LOGITS,
    TSRI_OUTPUT_TOP_IDS,
    TSRI_OUTPUT_TOP_LSE,
    TSRI_OUTPUT_HIDDEN = 16,                                               /* + i, 0 .. layers */
    TSRI_OUTPUT_ATTENTION = TSRI_OUTPUT_HIDDEN + TSRI_MODEL_MAX_LAYERS + 1 /* + layer */
} tsri_model_output;

/* States: 2 * layer (keys) and 2 * layer + 1 (values) from `first_state` on. */
typedef struct tsri_model_shape {
    int32_t slots;
    int64_t capacity;
    uint32_t first_state;
    int32_t top_k;      /* 0: none */
    tsr_dtype kv_dtype; /* of the states: f32 or f16 */
    bool logits, argmax, hidden, attention;
} tsri_model_shape;

/* A graph with inputs [B, T] whose logits are those of the N rows that TSRI_INPUT_ROWS names. With
 * `hidden` the last layer is computed for every token; without, only for those rows. With
 * `attention` the op is spelled out so that its probabilities can be read. */
tsr_status tsri_model_build(const tsri_model_weights *weights, const tsri_model_shape *shape,
                            tsri_graph **out);

#endif
