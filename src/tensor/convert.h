/* tensor/convert.h - rows of numbers from one dtype to another. */
#ifndef TSRI_TENSOR_CONVERT_H
#define TSRI_TENSOR_CONVERT_H

#include "tensor/dtype.h"
#include "tessera/status.h"

#include <stddef.h>

/* out[i] = in[i], n elements, in memory of any alignment; the two must not overlap.
 *
 * A ggml block type is dequantised to f32 as ggml does it, then converted. Conversion to q8_0 and
 * q4_0 goes by way of f32, as tensor/quantize.h describes; the other block types can't be written.
 * Rounding is to nearest, ties to even; subnormals, infinities and the sign of zero are kept; a NaN
 * stays a (quiet) NaN of the same sign. A float that becomes an integer is rounded in the same way
 * and saturates; NaN gives 0. A bool is "not zero".
 *
 * error   TSR_E_ARGUMENT     n is not a multiple of the block, or a number is not a dtype
 *         TSR_E_UNSUPPORTED  `to` is another block type
 * exact   tests/tensor/convert.c, every f16 and bf16 and every rounding between two of them
 */
tsr_status tsri_tensor_convert(tsr_dtype to, void *out, tsr_dtype from, const void *in, size_t n);

#endif
