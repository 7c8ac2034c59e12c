/* backends/opencl/bind/operation.h - an op that a plan owns: descriptors, attributes and bounds
 * copied. */
#ifndef TSRI_OPENCL_BIND_OPERATION_H
#define TSRI_OPENCL_BIND_OPERATION_H

#include "tessera/op.h"

typedef struct tsri_opencl_operation {
    tsr_op op; /* points into what follows */
    tsr_bounds bounds;
    tsr_tensor *tensors;
    tsr_tensor **in, **out; /* NULL entries where missing */
    void *attrs;            /* zero beyond what was given */
} tsri_opencl_operation;

/* Refuses a field that is newer than this backend. The copy must stay where it is: op points into
 * it. */
tsr_status tsri_opencl_operation_copy(const tsr_op *op, tsri_opencl_operation *out);
void tsri_opencl_operation_clear(tsri_opencl_operation *operation);

/* Copies min(struct_size, known) bytes of `given` to `copy` (zero beyond), and refuses non-zero
 * bytes after `known`. */
tsr_status tsri_opencl_take(const void *given, size_t known, void *copy, const char *what);

#endif
