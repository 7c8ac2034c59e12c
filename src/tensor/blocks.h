/* tensor/blocks.h - ggml's quantised blocks, unpacked exactly as that format defines them.
 *
 * exact   tests/tensor/blocks.c, bit for bit against the gguf package's own numpy definitions
 * source  github.com/ggml-org/ggml: src/ggml-common.h, src/ggml-quants.c (dequantize_row_*)
 */
#ifndef TSRI_TENSOR_BLOCKS_H
#define TSRI_TENSOR_BLOCKS_H

#include "tessera/tensor.h"

#include <stdbool.h>
#include <stddef.h>

/* Unpacks n elements of a ggml block type to f32; n is a multiple of the type's block. */
void tsri_tensor_unpack(tsr_dtype type, const void *blocks, float *out, size_t n);

/* Whether the scales of all these blocks are finite, which they may not be in a damaged file. *bad
 * is the first block that has a scale which is not. True for a type without blocks. */
bool tsri_tensor_scales_finite(tsr_dtype type, const void *blocks, size_t n, size_t *bad);

#endif
