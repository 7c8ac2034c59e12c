/* tensor/dtype.h - the sizes of a dtype, and halves as numbers. */
#ifndef TSRI_TENSOR_DTYPE_H
#define TSRI_TENSOR_DTYPE_H

#include "tessera/tensor.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The sizes of a dtype: `block` elements take `bytes` bytes (block is 1 except for the ggml
 * types). */
typedef struct tsri_tensor_dtype {
    const char *name; /* "f32", "q4_K" */
    int bits;         /* of one element; 0 where that is not a whole number, as for block types */
    int block, bytes;
    int part;     /* elements that share a scale; 0: not a type of blocks */
    bool minimum; /* whether an element is a minimum less than its integer times the scale */
} tsri_tensor_dtype;

enum {
    TSRI_TENSOR_DTYPES = TSR_GGML_MXFP4 + 1, /* all dtypes are below this */
    TSRI_TENSOR_LARGEST_BLOCK = 256
};

/* NULL for a number that is not a dtype. */
const tsri_tensor_dtype *tsri_tensor_dtype_info(tsr_dtype dtype);

/* How many bytes n elements take; false where n is not a multiple of the block, or the number
 * overflows. */
bool tsri_tensor_bytes(tsr_dtype dtype, uint64_t n, uint64_t *bytes);

/* Rounding is to nearest, ties to even; a NaN stays a quiet NaN of its sign. */
float tsri_tensor_f16_to_f32(uint16_t h);
float tsri_tensor_bf16_to_f32(uint16_t h);
uint16_t tsri_tensor_f32_to_f16(float f);
uint16_t tsri_tensor_f32_to_bf16(float f);

static inline float tsri_tensor_from_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint32_t tsri_tensor_to_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

#endif
