/* tensor/sample.h - made-up contents of an op's operands, for trials of its kernels. */
#ifndef TSRI_TENSOR_SAMPLE_H
#define TSRI_TENSOR_SAMPLE_H

#include "tessera/op.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes n elements of an input, from number `first` on, as `dtype`. Numbers are multiples of 1/8
 * in [-1,1], so that sums of their products are exact in f32. Whole numbers are valid for the op
 * and reach the ends of what they count; no two sequences of at most as many as there are slots
 * share one. `level` is for measuring: all sequences are alike, half of what a long one may see is
 * past, and places come in order. Else they differ. */
tsr_status tsri_tensor_sample(const tsr_op *op, const int64_t sizes[TSR_SYMBOLS], uint32_t input,
                              bool level, size_t first, size_t n, tsr_dtype dtype, void *out);

/* Writes n elements, from number `first` on, as blocks of a type that weights stay in and numbers can't be
 * turned into: all bits by chance, with scales that are powers of two and keep numbers within (-1,1). */
void tsri_tensor_sample_blocks(uint32_t stream, size_t first, size_t n, tsr_dtype dtype, void *out);

#endif
