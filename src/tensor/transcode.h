/* tensor/transcode.h - blocks of one type as blocks of another that hold the same numbers.
 *
 *     mxfp4, q5_0, iq4_nl   as q8_0: whole multiples, below 128, of one scale for 32 elements
 *
 * exact   tests/tensor/transcode.c: every number, bit for bit; of mxfp4 those of blocks whose scale is an
 *         f16 (from 2^-24 to 2^15), the others are quantised
 */
#ifndef TSRI_TENSOR_TRANSCODE_H
#define TSRI_TENSOR_TRANSCODE_H

#include "tessera/tensor.h"

#include <stdbool.h>
#include <stddef.h>

/* The type whose blocks hold what blocks of this type hold: q8_0; NONE where there is no such type. */
tsr_dtype tsri_tensor_holder(tsr_dtype type);

/* The dtype of floats that holds the numbers of blocks exactly: f32, because no half-precision dtype has the
 * digits of scale times integer; for mxfp4, whose scales are powers of two, bf16 does. */
tsr_dtype tsri_tensor_exact_floats(tsr_dtype type);
/* Turns n elements, whole blocks of both types, into blocks of tsri_tensor_holder(type). */
void tsri_tensor_transcode(tsr_dtype type, const void *blocks, void *out, size_t n);

#endif
