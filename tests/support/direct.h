/* One op run straight on the reference backend: no graph, no plan of run/. */
#ifndef TEST_SUPPORT_DIRECT_H
#define TEST_SUPPORT_DIRECT_H

#include "tessera/backend.h"

/* A constant-size operand over host memory; strides as for a packed array. */
tsr_tensor direct_tensor(tsr_dtype dtype, uint32_t rank, const int64_t *dims);
/* Dimension i of the result is dimension order[i] of x, sizes and strides. */
tsr_tensor direct_permute(tsr_tensor x, const uint32_t *order);

/* Runs the op; data[i] is the packed host memory of operand i, inputs first, of `bytes[i]` bytes
 * (NULL: missing). All are read back: outputs, and what the op writes among its inputs. */
tsr_status direct_run(tsr_op_id id, const void *attrs, uint32_t n_in, uint32_t n_out,
                      const tsr_tensor *tensors, void *const *data, const size_t *bytes);

#endif
