/* model/blocks/blocks.h - the graph of a model, built from its spec: the blocks are written once
 * for all families. */
#ifndef TSRI_MODEL_BLOCKS_BLOCKS_H
#define TSRI_MODEL_BLOCKS_BLOCKS_H

#include "model/weights/weights.h"

/* Inputs of the graph. All are int32 except those marked f32. */
typedef enum tsri_model_input {
    TSRI_INPUT_IDS = 0,     /* [B, T]; a short sequence is padded with 0 */
    TSRI_INPUT_POSITIONS,   /* [B, T] */
    TSRI_INPUT_PAST,        /* [B] tokens of the slot before these */
    TSRI_INPUT_LEN,         /* [B] past and these together */
    TSRI_INPUT_SLOT,        /* [B] of an encoder: the slot where cross-attention finds its output */
    TSRI_INPUT_ROWS,        /* [N] rows of [B * T] whose logits are wanted */
    TSRI_INPUT_FREQUENCIES, /* f32 [rotary / 2], if the scaling depends on the length */
    TSRI_INPUT_TYPES,       /* [B, T] segments of tokens */
    TSRI_INPUT_KEYS,        /* [B, capacity] the slot that holds each key */
    TSRI_INPUT_SOURCE,      /* [B] the source slot that each sequence attends to */
    TSRI_INPUT_SOURCE_LEN,  /* [B] its length */
    TSRI_INPUT_TOKEN,       /* [B] ids, of a recurrent decoder: one token each run */
    TSRI_INPUT_STATE,       /* [B] of a recurrent decoder: the row of the previous state; of its
                               encoder: the slot that keeps the first state */
    /* Of a training graph. The encoder of an encoder-decoder reads SOURCE_IDS and SOURCE_POSITIONS
     * [B, S] with lengths SOURCE_LEN; its decoder reads IDS and POSITIONS [B, T]. */
    TSRI_INPUT_SOURCE_IDS,
    TSRI_INPUT_SOURCE_POSITIONS,
    TSRI_INPUT_TARGETS,     /* [B, T]; masked: [N]; a classifier's: [B] */
    TSRI_INPUT_TEACHER,     /* f32: logits, with the shape of the model's */
    TSRI_INPUT_HARD,        /* f32 [1] the weight of a row's cross entropy */
    TSRI_INPUT_SOFT,        /* f32 [1] the weight of a row's divergence */
    TSRI_INPUT_BETA,        /* f32 [1] the factor of the gradients that were there before */
    TSRI_INPUT_SEED,        /* [4] of dropout */
    TSRI_INPUT_BUCKETS,     /* [2R+1] of the bias by distance: the bucket of each distance */
    TSRI_INPUT_OWN_BUCKETS, /* the same for the decoder of an encoder-decoder */
    TSRI_INPUT_DISTANCES, /* [rows] of disentangled attention: the rows of its table that are needed */
    TSRI_INPUT_PLACES,    /* [2 reach + 1] which of them each distance takes */
    TSRI_INPUT_TAPS,      /* [B * T * taps] of a convolution: the row of each token's taps */
    TSRI_INPUT_TAP_MASK, /* f32 [B * T * taps, 1] 0 where that token is not in the sequence, else 1 */
    TSRI_INPUT_RATES,    /* f32 [4] the optimizer's */
    TSRI_INPUT_DRAW_RATE, /* f32 [N] of a graph that draws: of the op `sample`, each row's rate */
    TSRI_INPUT_DRAW,      /* [N, 4] and its settings */
    TSRI_INPUT_ENCODED,   /* f32 [B, T, C] the encoder's output, of a graph of TSRI_SIDES_SOURCE */
    TSRI_INPUT_PAGES, /* [B, capacity / TSRI_MODEL_PAGE] where states have pages: those of each sequence */
    TSRI_INPUT_COUNT
} tsri_model_input;

typedef enum tsri_model_output {
    TSRI_OUTPUT_LOGITS = 0,
    TSRI_OUTPUT_ARGMAX,
    TSRI_OUTPUT_TOP_LOGITS,
    TSRI_OUTPUT_TOP_IDS,
    TSRI_OUTPUT_TOP_LSE,
    TSRI_OUTPUT_DRAWN,  /* one of the top_k largest, in place of these three */
    TSRI_OUTPUT_STATES, /* of encoders, as the next four */
    TSRI_OUTPUT_VECTORS,
    TSRI_OUTPUT_POOLED,
    TSRI_OUTPUT_LABELS,
    TSRI_OUTPUT_NEXT,
    TSRI_OUTPUT_HARD,        /* of a training graph: the cross entropy of each row */
    TSRI_OUTPUT_SOFT,        /* and its divergence */
    TSRI_OUTPUT_ENCODED,     /* of an encoder-decoder: the encoder's output [B, T, C] */
    TSRI_OUTPUT_HIDDEN = 16, /* + i, 0 .. layers */
    TSRI_OUTPUT_ATTENTION = TSRI_OUTPUT_HIDDEN + TSRI_MODEL_MAX_LAYERS + 1, /* + layer */
    TSRI_OUTPUT_CROSS = TSRI_OUTPUT_ATTENTION + TSRI_MODEL_MAX_LAYERS       /* + layer */
} tsri_model_output;

/* Positions of a page: a tile of keys (cl/attention/order.clh), so that no tile lies in two pages. Two prompts
 * share whole pages, so fewer would share more; the table of a sequence's pages, an input of every run, would
 * be longer. */
enum { TSRI_MODEL_PAGE = 32 };

/* Which stacks a graph computes. In an encoder-decoder each stack has its own graph, and they meet
 * in the states of cross-attention; a graph with both is for storing the weights. The encoder's graph
 * keeps keys and values of its output for the decoder. Where ranks share the layers it gives that output
 * (`encoded`), and a graph of TSRI_SIDES_SOURCE reads it: each rank keeps what its own layers attend to. */
typedef enum tsri_model_side_set {
    TSRI_SIDES_DECODER = 1,
    TSRI_SIDES_ENCODER = 2,
    TSRI_SIDES_SOURCE = 4
} tsri_model_side_set;

/* States, from `first_state` on: 2 * layer (keys) and 2 * layer + 1 (values) of the decoder's own
 * attention, then those of its cross-attention. */
typedef struct tsri_model_shape {
    tsri_model_side_set sides;
    int32_t slots, sources;
    int32_t pages; /* > 0: the decoder's own attention has pages, in place of slots */
    int64_t capacity, source_capacity; /* with pages: of a sequence, in whole pages */
    uint32_t first_state;
    int32_t top_k;                                 /* 0: none */
    tsr_dtype kv_dtype;                            /* dtype of the states: f32, f16 or q8_0 */
    bool logits, argmax, hidden, attention, cross; /* attention, cross: their probabilities */
    bool drawn;                                    /* one of the top_k largest is drawn */
    bool by_keys;                                  /* TSRI_INPUT_KEYS says where each key lies */
    bool states, vectors, pooled, labels, next;
    bool encoded;     /* the encoder's output is a result, and nothing is kept of it here */
    uint32_t pooling; /* of vectors: tsr_pool */
    /* of disentangled attention: the largest distance of two tokens; 0: whatever the model reads */
    int64_t reach;
    const struct tsri_model_learning *learning; /* NULL: not a training graph */
} tsri_model_shape;

/* Number of states that a session of this model has. */
uint32_t tsri_model_state_count(const tsri_model_spec *spec);

/* Builds a graph with inputs [B, T] that gives the logits of the N rows that TSRI_INPUT_ROWS names.
 * With `hidden` the last layer is computed for every token; without, only for those rows. With
 * `attention` the op is spelled out so that its probabilities can be read. An encoder's states are those
 * rows, as its last layer leaves them; its vectors, pooled, labels (of sequences) and next have one row
 * for each sequence. */
tsr_status tsri_model_build(const tsri_model_weights *weights, const tsri_model_shape *shape,
                            tsri_graph **out);

enum { TSRI_MODEL_FEW_ROWS = 8 };
/* Bounds of a decoder's plan for B sequences of T tokens (at most `limit`). With `all`, rows go up
 * to B * T, else up to B. If TSRI_MODEL_FEW_ROWS rows of several sequences are all wanted, there is
 * room for no more: results may be as wide as the vocabulary, and there may be many slots. */
tsr_bounds tsri_model_bounds(int64_t slots, int64_t B, int64_t T, int64_t limit, bool all);

#endif
