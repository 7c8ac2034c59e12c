/* backends/opencl/bind/operation.h - an op that a plan owns: its descriptors, attributes and bounds
 * are copied. */
#ifndef TSRI_OPENCL_BIND_OPERATION_H
#define TSRI_OPENCL_BIND_OPERATION_H

#include "tessera/op.h"

typedef struct tsri_opencl_operation {
    tsr_op op; /* points into the members below */
    tsr_bounds bounds;
    tsr_tensor *tensors;
    tsr_tensor **in, **out; /* NULL entries where missing */
    void *attrs;            /* zero beyond what was given */
} tsri_opencl_operation;

/* Refuses an op that has a field newer than this backend. The copy must not be moved: `op` points
 * into it. */
tsr_status tsri_opencl_operation_copy(const tsr_op *op, tsri_opencl_operation *out);
void tsri_opencl_operation_clear(tsri_opencl_operation *operation);

/* Copies min(struct_size, known) bytes of `given` to `copy` and clears the rest of it; refuses
 * non-zero bytes behind `known`. */
tsr_status tsri_opencl_take(const void *given, size_t known, void *copy, const char *what);

#endif
