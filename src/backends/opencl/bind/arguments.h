/* backends/opencl/bind/arguments.h - a launch while a kernel variant binds it: the struct that the
 * calls of variant.h fill. */
#ifndef TSRI_OPENCL_BIND_ARGUMENTS_H
#define TSRI_OPENCL_BIND_ARGUMENTS_H

#include "backends/opencl/bind/defines.h"
#include "backends/opencl/device/device.h"

enum { TSRI_OPENCL_SCRATCH_ARGS = 4 };

/* Arguments recorded for a chain, as a variant binds them. Kinds: 'p' is a buffer (NULL: the
 * device's scratch), 'i' an int, 'f' a float, '8' an int8, 'g' an int16. */
enum { TSRI_OPENCL_TRACED = 48 };
typedef struct tsri_opencl_trace {
    char kinds[TSRI_OPENCL_TRACED + 1];
    union {
        cl_mem mem;
        cl_int words[16];
    } values[TSRI_OPENCL_TRACED];
} tsri_opencl_trace;

struct tsri_opencl_launch {
    tsr_dev *dev;
    const tsri_opencl_variant *variant;
    const tsri_opencl_values *values; /* of the variant's tunables; owned by the instance */
    const char *file;                 /* of the kernel; NULL for a provider without one */
    tsri_opencl_launch *before;       /* the stage that runs first; owned; NULL: there is none */
    const tsr_op *op;                 /* borrowed: outlives the launch */
    const tsr_bounds *bounds;
    cl_mem dims;
    cl_kernel kernel; /* owned; NULL for a provider without a file, and for a step of a chain */
    cl_kernel named;  /* borrowed: tells the names of the parameters; NULL: they are not compared */
    tsri_opencl_trace *trace; /* owned; NULL: the arguments are set in the kernel */
    cl_uint n_args;
    tsr_status status; /* the first failure while binding */
    cl_uint scratch_args[TSRI_OPENCL_SCRATCH_ARGS];
    int n_scratch;
    uint64_t scratch_bytes; /* including those of the stage before */
    tsr_dim grid[3], work;
    int per_item[3];
    size_t group[3];
    uint64_t limit; /* multiply-adds of one enqueue */
    uint64_t *pace; /* the same, as it was measured; the instance's; NULL: `limit` counts */
};

#endif
