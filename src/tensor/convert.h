/* tensor/convert.h - rows of numbers from one dtype to another. */
#ifndef TSRI_TENSOR_CONVERT_H
#define TSRI_TENSOR_CONVERT_H

#include "tessera/status.h"
#include "tessera/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a dtype is made of: `block` elements take `bytes` bytes (block 1 but for the ggml types). */
typedef struct tsri_tensor_dtype {
    const char *name; /* "f32", "q4_K" */
    int bits;         /* of one element; 0 where a block type has no whole number */
    int block, bytes;
} tsri_tensor_dtype;

/* NULL for a number that is no dtype. */
const tsri_tensor_dtype *tsri_tensor_dtype_info(tsr_dtype dtype);

/* Bytes of n elements; false where n is no multiple of the block, or the number does not fit. */
bool tsri_tensor_bytes(tsr_dtype dtype, uint64_t n, uint64_t *bytes);

/* out[i] = in[i], n elements, in memory of any alignment; the two must not overlap.
 *
 * A ggml block type is dequantised to f32 as ggml does, then converted. To q8_0 and q4_0 numbers go
 * as tensor/quantize.h says, by way of f32; the other block types are no destination.
 * Rounding is to nearest, ties to even; subnormals, infinities and the sign of zero are kept; a NaN
 * stays a (quiet) NaN of that sign. Float to integer rounds likewise and saturates, NaN gives 0; to
 * bool is "not zero".
 *
 * error   TSR_E_ARGUMENT     n is no multiple of the block, or a dtype is none
 *         TSR_E_UNSUPPORTED  `to` is another block type
 * exact   tests/tensor/convert.c, every f16 and bf16 and every rounding between two of them
 */
tsr_status tsri_tensor_convert(tsr_dtype to, void *out, tsr_dtype from, const void *in, size_t n);

float tsri_tensor_f16_to_f32(uint16_t h);
float tsri_tensor_bf16_to_f32(uint16_t h);
uint16_t tsri_tensor_f32_to_f16(float f);
uint16_t tsri_tensor_f32_to_bf16(float f);

#endif
