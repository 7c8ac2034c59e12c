/* tensor/quantize.h - which block types weights can be stored in, and numbers to the two that can be
 * written.
 *
 *     q8_0   y = d q, q in -127 .. 127            q4_0   y = d q, q in -8 .. 7
 *
 * A block has 32 elements and one scale d in f16. q8_0 takes d = max |y| / 127, so that no number
 * is off by more than d / 2; q4_0 takes that of 19 scales which has the smallest sum of squared
 * errors.
 *
 * range   |y| <= 127 * 65504 (q8_0), 8 * 65504 (q4_0). Beyond that, and for infinities and NaN, a
 *         scale is not finite, which tsri_tensor_scales_finite finds
 * exact   tests/tensor/quantize.c: the same bytes on every machine; whole multiples of an f16 scale
 *         come back exactly where the largest is 127 of them (q8_0), 7 or -8 (q4_0)
 */
#ifndef TSRI_TENSOR_QUANTIZE_H
#define TSRI_TENSOR_QUANTIZE_H

#include "tessera/tensor.h"

#include <stdbool.h>
#include <stddef.h>

/* Elements of a block; also the inputs of a product that share a scale where it is computed in int8. */
enum { TSRI_TENSOR_BLOCK = 32 };

/* Whether weights can stay in blocks of this type: small or wide ones, as below. */
bool tsri_tensor_is_kept_blocks(tsr_dtype dtype);

/* Whether these are such blocks of TSRI_TENSOR_BLOCK elements, which have one scale and nothing else beside
 * their elements: q8_0, q4_0 and mxfp4. */
bool tsri_tensor_is_small_blocks(tsr_dtype dtype);

/* Whether these are all others, which kernels make wide (cl/weighted/wide.clh): q4_1, q5_0, q5_1 and iq4_nl of
 * 32 elements; q2_K to q6_K and iq4_xs of 256. */
bool tsri_tensor_is_wide_blocks(tsr_dtype dtype);

/* Whether numbers can be turned into blocks of this type: q8_0 and q4_0. */
bool tsri_tensor_is_written_blocks(tsr_dtype dtype);

/* Quantises n elements, a multiple of 32, to blocks of one of the two types. */
void tsri_tensor_quantize(tsr_dtype type, const float *in, void *blocks, size_t n);

#endif
