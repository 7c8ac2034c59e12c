/* Runs one op directly on the reference backend, without a graph and without a plan of run/. */
#ifndef TEST_SUPPORT_DIRECT_H
#define TEST_SUPPORT_DIRECT_H

#include "tessera/backend.h"

/* An operand of constant size over host memory, with the strides of a packed array. */
tsr_tensor direct_tensor(tsr_dtype dtype, uint32_t rank, const int64_t *dims);
/* Dimension i of the result is dimension order[i] of x, in sizes and strides. */
tsr_tensor direct_permute(tsr_tensor x, const uint32_t *order);

/* Runs the op. data[i] is the packed host memory of operand i, inputs first, of `bytes[i]` bytes
 * (NULL: missing). All operands are read back: outputs, and inputs that the op writes. */
tsr_status direct_run(tsr_op_id id, const void *attrs, uint32_t n_in, uint32_t n_out,
                      const tsr_tensor *tensors, void *const *data, const size_t *bytes);

#endif
