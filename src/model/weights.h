/* model/weights.h - the weights that a spec needs, where each lies in the files, and their rows as
 * run/ asks for them. */
#ifndef TSRI_MODEL_WEIGHTS_H
#define TSRI_MODEL_WEIGHTS_H

#include "io/archive.h"
#include "model/arch.h"
#include "run/run.h"
#include "tessera/model.h"

/* Weights of the whole model, then those of a layer: id = TSRI_WEIGHT_LAYERS + layer *
 * TSRI_WEIGHT_PER_LAYER + role. */
typedef enum tsri_model_weight_id {
    TSRI_WEIGHT_EMBED = 0,
    TSRI_WEIGHT_POSITION,
    TSRI_WEIGHT_FINAL_NORM,
    TSRI_WEIGHT_FINAL_NORM_BIAS,
    TSRI_WEIGHT_HEAD,
    TSRI_WEIGHT_HEAD_BIAS,
    TSRI_WEIGHT_FREQUENCIES, /* computed, not read */
    TSRI_WEIGHT_LAYERS
} tsri_model_weight_id;

typedef enum tsri_model_role {
    TSRI_ROLE_NORM1 = 0,
    TSRI_ROLE_NORM1_BIAS,
    TSRI_ROLE_QKV, /* queries, keys and values as one matrix */
    TSRI_ROLE_QKV_BIAS,
    TSRI_ROLE_Q_NORM,
    TSRI_ROLE_K_NORM,
    TSRI_ROLE_OUT,
    TSRI_ROLE_OUT_BIAS,
    TSRI_ROLE_NORM2,
    TSRI_ROLE_NORM2_BIAS,
    TSRI_ROLE_UP, /* gate and up as one matrix where the feed-forward part is gated */
    TSRI_ROLE_UP_BIAS,
    TSRI_ROLE_DOWN,
    TSRI_ROLE_DOWN_BIAS,
    TSRI_WEIGHT_PER_LAYER
} tsri_model_role;

/* A run of rows (elements, for a vector) of one array: row i lies at first + (i / group) * stride +
 * i % group. */
typedef struct tsri_model_part {
    const tsri_io_array *array;
    int64_t rows, first, group, stride;
    int64_t across; /* > 0: the array is [inputs, across], and its columns are the rows */
} tsri_model_part;

enum { TSRI_MODEL_MAX_PARTS = 3 };

typedef struct tsri_model_weight {
    char name[64];   /* "layers.0.qkv.weight"; "" where the model has no such weight */
    uint32_t rank;   /* 1 or 2 */
    int64_t dims[2]; /* of a matrix [outputs, inputs] */
    tsr_dtype dtype; /* as it is kept */
    float add;       /* to each element */
    tsri_model_part parts[TSRI_MODEL_MAX_PARTS];
    int n_parts; /* 0: computed */
} tsri_model_weight;

/* How matrices are kept, and how products are formed from them. Vectors are always f32. */
typedef struct tsri_model_keeping {
    /* f32, f16, bf16; q8_0 or q4_0, which a matrix whose rows are no multiple of 32 and the table
     * of positions don't follow (as stored, and f32); NONE: as stored, f32 where the parts of one
     * differ, blocks as the f32 that they hold */
    tsr_dtype dtype;
    tsr_model_compute compute;
    bool stored_blocks; /* with NONE, q8_0 and q4_0 stay what they are */
} tsri_model_keeping;

typedef struct tsri_model_weights {
    const tsri_io_archive *archive; /* borrowed */
    const tsri_model_spec *spec;    /* borrowed */
    tsri_model_keeping keeping;
    tsri_model_weight *items; /* by id; those the model lacks have no name */
    uint32_t count;
    float *frequencies; /* [rotary / 2], or NULL */
} tsri_model_weights;

/* Finds every array that the spec needs and checks its shape; arrays that no weight reads are
 * refused. */
tsr_status tsri_model_weights_create(const tsri_io_archive *archive, const tsri_model_arch *arch,
                                     const tsri_model_spec *spec, const char *config_name,
                                     const tsri_model_keeping *keeping, tsri_model_weights **out);
void tsri_model_weights_destroy(tsri_model_weights **weights);

uint32_t tsri_model_weight_of(int32_t layer, tsri_model_role role);
/* NULL where the model has none. */
const tsri_model_weight *tsri_model_weight_at(const tsri_model_weights *weights, uint32_t id);
/* How a linear op forms its products from this matrix. */
tsr_compute tsri_model_weight_compute(const tsri_model_weights *weights,
                                      const tsri_model_weight *weight);
/* Bytes of all weights as kept. */
uint64_t tsri_model_weights_bytes(const tsri_model_weights *weights);

/* What tsri_run_source.rows gives. NaN and infinities are refused, naming the array. */
tsr_status tsri_model_weights_rows(const tsri_model_weights *weights, uint32_t id, int64_t first,
                                   int64_t count, tsr_dtype dtype, void *out);

/* The same of one part, whose rows have `columns` elements. */
tsr_status tsri_model_part_rows(const tsri_model_weights *weights, const tsri_model_part *part,
                                int64_t columns, int64_t first, int64_t count, tsr_dtype dtype,
                                void *out);

#endif
