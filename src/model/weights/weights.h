/* model/weights/weights.h - the weights that a spec needs, where each is in the files, and their
 * rows as run/ asks for them. */
#ifndef TSRI_MODEL_WEIGHTS_WEIGHTS_H
#define TSRI_MODEL_WEIGHTS_WEIGHTS_H

#include "base/bytes.h"
#include "io/archive.h"
#include "model/arch/arch.h"
#include "model/weights/adapter.h"
#include "run/run.h"
#include "tessera/model.h"

/* Ids of weights: those of the whole model, then of each stack, then of each of its layers (the
 * decoder's first): tsri_model_stack_weight, tsri_model_layer_weight. The id of a bias is one more
 * than that of its weight. */
typedef enum tsri_model_weight_id {
    TSRI_WEIGHT_EMBED = 0,
    TSRI_WEIGHT_TYPES,
    TSRI_WEIGHT_PROJECT, /* from the embedding's width to the hidden size */
    TSRI_WEIGHT_PROJECT_BIAS,
    TSRI_WEIGHT_HEAD,
    TSRI_WEIGHT_HEAD_BIAS,
    TSRI_WEIGHT_MASKED_DENSE, /* the masked LM head's dense layer and its norm */
    TSRI_WEIGHT_MASKED_DENSE_BIAS,
    TSRI_WEIGHT_MASKED_NORM,
    TSRI_WEIGHT_MASKED_NORM_BIAS,
    TSRI_WEIGHT_POOLER,
    TSRI_WEIGHT_POOLER_BIAS,
    TSRI_WEIGHT_NEXT, /* next sentence or not */
    TSRI_WEIGHT_NEXT_BIAS,
    TSRI_WEIGHT_LABEL_DENSE,
    TSRI_WEIGHT_LABEL_DENSE_BIAS,
    TSRI_WEIGHT_LABEL_NORM,
    TSRI_WEIGHT_LABEL_NORM_BIAS,
    TSRI_WEIGHT_LABEL,
    TSRI_WEIGHT_LABEL_BIAS,
    TSRI_WEIGHT_STACKS
} tsri_model_weight_id;

typedef enum tsri_model_stack_role {
    TSRI_STACK_EMBED = 0, /* the encoder's own embedding table */
    TSRI_STACK_POSITION,  /* learned, or computed */
    TSRI_STACK_EMBED_NORM,
    TSRI_STACK_EMBED_NORM_BIAS,
    TSRI_STACK_RELATIVE,       /* [H, 2R+1]: the bias of each head at distance -R .. R; computed */
    TSRI_STACK_RELATIVE_TABLE, /* [buckets, H]: the table that it is computed from; for training */
    TSRI_STACK_DISTANCES,      /* [2 span, C]: the table of disentangled attention, and its norm */
    TSRI_STACK_DISTANCES_BIAS,
    TSRI_STACK_DISTANCE_NORM,
    TSRI_STACK_DISTANCE_NORM_BIAS,
    TSRI_STACK_CONV, /* [C, C / groups * taps]: the convolution beside the first layer, and its norm */
    TSRI_STACK_CONV_BIAS,
    TSRI_STACK_CONV_NORM,
    TSRI_STACK_CONV_NORM_BIAS,
    TSRI_STACK_FINAL_NORM,
    TSRI_STACK_FINAL_NORM_BIAS,
    TSRI_STACK_FREQUENCIES,       /* computed, not read */
    TSRI_STACK_LOCAL_FREQUENCIES, /* of local_rope */
    TSRI_WEIGHT_PER_STACK
} tsri_model_stack_role;
enum { TSRI_WEIGHT_LAYERS = TSRI_WEIGHT_STACKS + 2 * TSRI_WEIGHT_PER_STACK };

typedef enum tsri_model_role {
    TSRI_ROLE_NORM1 = 0,
    TSRI_ROLE_NORM1_BIAS,
    TSRI_ROLE_QKV, /* queries, keys and values as one matrix */
    TSRI_ROLE_QKV_BIAS,
    TSRI_ROLE_QKV_SECOND, /* where they are blocks of several types: those after the first type's; where
                             distances have queries and keys, too: the values */
    TSRI_ROLE_QKV_SECOND_BIAS,
    TSRI_ROLE_QKV_THIRD, /* and after the second's */
    TSRI_ROLE_QKV_THIRD_BIAS,
    TSRI_ROLE_DISTANCE_QK, /* queries and keys of distances, where matrices of their own make them */
    TSRI_ROLE_DISTANCE_QK_BIAS,
    TSRI_ROLE_DISTANCE_K, /* where keys have no biases: those of distances; DISTANCE_QK has the queries */
    TSRI_ROLE_DISTANCE_K_BIAS,
    TSRI_ROLE_Q_LATENT, /* of latent attention; QKV has its queries alone */
    TSRI_ROLE_Q_LATENT_BIAS,
    TSRI_ROLE_Q_LATENT_NORM,
    TSRI_ROLE_KV_LATENT, /* the latent vector of keys and values, then the keys' shared part */
    TSRI_ROLE_KV_LATENT_BIAS,
    TSRI_ROLE_KV_LATENT_NORM,
    TSRI_ROLE_KV_UP, /* by head: the key without the shared part, the value */
    TSRI_ROLE_KV_UP_BIAS,
    TSRI_ROLE_V_UP, /* where files have values apart: then keys are there, and values here */
    TSRI_ROLE_V_UP_BIAS,
    TSRI_ROLE_Q_NORM,
    TSRI_ROLE_K_NORM,
    TSRI_ROLE_SINKS,
    TSRI_ROLE_RELATIVE, /* a layer's own bias by distance, and its table: as TSRI_STACK_RELATIVE */
    TSRI_ROLE_RELATIVE_TABLE,
    TSRI_ROLE_OUT,
    TSRI_ROLE_OUT_BIAS,
    TSRI_ROLE_OUT_NORM, /* of what attention adds to the stream */
    TSRI_ROLE_OUT_NORM_BIAS,
    TSRI_ROLE_CROSS_NORM,
    TSRI_ROLE_CROSS_NORM_BIAS,
    TSRI_ROLE_CROSS_Q,
    TSRI_ROLE_CROSS_Q_BIAS,
    TSRI_ROLE_CROSS_KV, /* keys and values of the encoder's output */
    TSRI_ROLE_CROSS_KV_BIAS,
    TSRI_ROLE_CROSS_OUT,
    TSRI_ROLE_CROSS_OUT_BIAS,
    TSRI_ROLE_NORM2,
    TSRI_ROLE_NORM2_BIAS,
    TSRI_ROLE_UP, /* gate and up as one matrix if the feed-forward part is gated */
    TSRI_ROLE_UP_BIAS,
    TSRI_ROLE_DOWN,
    TSRI_ROLE_DOWN_BIAS,
    TSRI_ROLE_ROUTER, /* a logit for each expert */
    TSRI_ROLE_ROUTER_BIAS,
    TSRI_ROLE_EXPERTS_UP, /* of all experts, one after the other: its gates, then its ups */
    TSRI_ROLE_EXPERTS_UP_BIAS,
    TSRI_ROLE_EXPERTS_DOWN,
    TSRI_ROLE_EXPERTS_DOWN_BIAS,
    TSRI_ROLE_CHOICE_BIAS, /* added to scores where experts are compared */
    TSRI_ROLE_SHARED_ROUTER, /* a vector: the factor of the expert that every token takes, UP and DOWN */
    TSRI_ROLE_DOWN_NORM, /* of what the feed-forward part adds */
    TSRI_ROLE_DOWN_NORM_BIAS,
    TSRI_ROLE_FORWARD, /* of recurrent units: gates from the input; the next roles: gates from
                          the state */
    TSRI_ROLE_FORWARD_BIAS,
    TSRI_ROLE_FORWARD_STATE,
    TSRI_ROLE_FORWARD_STATE_BIAS,
    TSRI_ROLE_BACKWARD,
    TSRI_ROLE_BACKWARD_BIAS,
    TSRI_ROLE_BACKWARD_STATE,
    TSRI_ROLE_BACKWARD_STATE_BIAS,
    TSRI_ROLE_INIT, /* the first state of a decoder */
    TSRI_ROLE_INIT_BIAS,
    TSRI_ROLE_SCORE, /* additive attention's vector */
    TSRI_WEIGHT_PER_LAYER
} tsri_model_role;

/* A range of rows (elements, for a vector) of one array: row i is at first + (i / group) * stride +
 * i % group. */
typedef struct tsri_model_part {
    const tsri_io_array *array; /* NULL: all rows are `blank` */
    float blank;
    int64_t rows, first, group, stride;
    /* > 0: the array is [inputs, across], and its columns are the rows; or several such matrices, one
     * after the other */
    int64_t across;
} tsri_model_part;

/* The row of the array that is row i of the part. */
static inline int64_t tsri_model_part_row(const tsri_model_part *part, int64_t i) {
    return part->first + i / part->group * part->stride + i % part->group;
}

/* Where element k of a row, counted as in an array without `across`, lies in the part's array. */
static inline int64_t tsri_model_part_element(const tsri_model_part *part, int64_t columns,
                                              int64_t row, int64_t k) {
    return part->across ? (row / part->across * columns + k) * part->across + row % part->across
                        : row * columns + k;
}

typedef struct tsri_model_weight {
    char name[64];          /* "layers.0.qkv.weight"; "" if the model has no such weight */
    uint32_t rank;          /* 1 or 2 */
    int64_t dims[2];        /* of a matrix [outputs, inputs] */
    tsr_dtype dtype;        /* the dtype that it is kept in */
    float add;              /* added to each element */
    tsri_model_part *parts; /* owned by the table */
    int n_parts;            /* 0: computed */
    float *values;          /* values of a computed weight, [dims], owned by the table */
} tsri_model_weight;

/* How matrices are kept, and how products are formed from them. Vectors are always f32. */
typedef struct tsri_model_keeping {
    /* f32, f16 or bf16; q8_0 or q4_0, except for a matrix whose rows are not multiples of 32 (kept
     * as stored) and the table of positions (f32); NONE: as stored, f32 if the parts of a matrix
     * differ, and blocks as the f32 values that they hold */
    tsr_dtype dtype;
    tsr_model_compute compute;
    /* With AUTO, the name (borrowed) of a device that forms int8 products more slowly than those of
     * floats, so all are of f32; NULL: there is none, or no device was asked yet */
    const char *slow_int8;
    /* With NONE: why AUTO is f32 for blocks, too. So it is where most numbers of the matrices are floats:
     * int8 would cost accuracy and save little. NULL: it isn't. */
    const char *float_blocks;
    bool fast_bf16; /* with AUTO: every device forms products of bf16 faster than those of f32 */
    bool stored_blocks; /* with NONE, blocks of types that can be kept stay as they are */
} tsri_model_keeping;

typedef struct tsri_model_weights {
    const tsri_io_archive *archive; /* borrowed */
    const tsri_model_spec *spec;    /* borrowed */
    tsri_model_keeping keeping;
    tsri_model_adapters *adapters; /* added as rows are read; NULL: nothing */
    tsri_model_weight *items;      /* by id; weights that the model lacks have no name */
    uint32_t count;
    uint32_t own; /* ids from here on are of matrices of adapters (beside.h); 0: there are none */
    tsri_bytes
        left_out; /* "sop_classifier, my_head": the parts of the files that are not computed; or
                             empty */
    /* Of an output matrix of its own that the files lack: an array with the embedding's bytes and another name,
     * which the archive doesn't list; owned; or NULL */
    tsri_io_array *head;
    const char *untied; /* the name of an output matrix that the config says is the embedding, but
                             whose numbers are others; or NULL */
} tsri_model_weights;

/* Finds every array that the spec needs and checks its shape; arrays that no weight reads are
 * refused. spec->tied becomes false where the files have an output matrix of other numbers than the
 * embedding's. */
tsr_status tsri_model_weights_create(const tsri_io_archive *archive, const tsri_model_arch *arch,
                                     tsri_model_spec *spec, const char *config_name,
                                     const tsri_model_keeping *keeping, tsri_model_weights **out);
void tsri_model_weights_destroy(tsri_model_weights **weights);

/* Defines the output matrix of a model for which it is the embedding as a matrix of its own, with the same numbers: from
 * the files' array of this name, which is then a copy, else from weights->head. spec->tied stays true: the caller
 * changes it. */
tsr_status tsri_model_untie(tsri_model_weights *weights, const char *name);

/* An array that a family's files have for a spec. */
typedef struct tsri_model_wanted_array {
    char name[160];
    uint32_t id; /* the weight that reads it; for a bias by distance, EMBED's id */
    int rank;
    int64_t dims[3]; /* dimensions as stored */
    bool across;     /* [inputs, outputs] */
    bool grouped; /* a weight's rows are groups of its rows that don't lie one behind the other */
} tsri_model_wanted_array;

typedef struct tsri_model_wanted {
    uint32_t heads; /* bits TSRI_WEIGHT_POOLER, _NEXT, _LABEL_DENSE, _LABEL, _MASKED_DENSE: the
                       heads of an encoder that are wanted; the family may have none of that name */
    tsri_model_wanted_array *items;
    size_t count, room;
} tsri_model_wanted;

/* The arrays that a new model's file should have, with the first of alternative names and the whole
 * prefix; wanted->heads must be set. New memory: free(wanted->items). */
tsr_status tsri_model_weights_wanted(const tsri_model_arch *arch, const tsri_model_spec *spec,
                                     tsri_model_wanted *wanted);

uint32_t tsri_model_stack_weight(const tsri_model_stack *stack, tsri_model_stack_role role);
/* Layers that share their weights have the same ids. */
uint32_t tsri_model_layer_weight(const tsri_model_spec *spec, const tsri_model_stack *stack,
                                 int32_t layer, tsri_model_role role);
/* The role of a layer's weight; TSRI_WEIGHT_PER_LAYER for one that is not a layer's. */
tsri_model_role tsri_model_weight_role(uint32_t id);
/* The part of a weight that reads this array; NULL: none does. */
const tsri_model_part *tsri_model_weight_part(const tsri_model_weight *weight,
                                              const tsri_io_array *array);
/* The weight, or NULL if the model has none. */
const tsri_model_weight *tsri_model_weight_at(const tsri_model_weights *weights, uint32_t id);
/* Whether the model has an output matrix, which gives logits. */
bool tsri_model_has_output(const tsri_model_weights *weights);
/* Whether it is an encoder with a masked LM head. */
bool tsri_model_has_masked(const tsri_model_weights *weights);
/* How a linear op forms its products from this matrix. */
tsr_compute tsri_model_weight_compute(const tsri_model_weights *weights,
                                      const tsri_model_weight *weight);
/* Whether it is a bias by distance, or the table of one. */
bool tsri_model_weight_is_relative(const tsri_model_spec *spec, uint32_t id);
/* Whether it is a router, or the matrices of all experts of a layer. */
bool tsri_model_weight_is_of_experts(uint32_t id);
/* Whether it is a matrix of blocks that could stay as they are, and is kept as f32: its parts have blocks of
 * different types, or tsri_model_settle_compute made them so. */
bool tsri_model_weight_is_widened(const tsri_model_weights *weights, uint32_t id);
/* Whether it is added to experts' scores where they are compared, so that it has no gradient. */
bool tsri_model_weight_is_choice_bias(uint32_t id);
/* The elements of a weight, and how many of them a token is multiplied with: of experts, those that it
 * takes. */
uint64_t tsri_model_weight_elements(const tsri_model_weight *weight);
double tsri_model_weight_active(const tsri_model_weights *weights, uint32_t id);
/* The bytes of all weights as they are kept. */
uint64_t tsri_model_weights_bytes(const tsri_model_weights *weights);

/* Gives the rows for tsri_run_source.rows. NaN and infinities are refused with the array's name. */
tsr_status tsri_model_weights_rows(const tsri_model_weights *weights, uint32_t id, int64_t first,
                                   int64_t count, tsr_dtype dtype, void *out);

/* The same for one part, whose rows have `columns` elements. */
tsr_status tsri_model_part_rows(const tsri_model_weights *weights, const tsri_model_part *part,
                                int64_t columns, int64_t first, int64_t count, tsr_dtype dtype,
                                void *out);

#endif
