/* backends/opencl/launch.h - a kernel with its arguments set and its grid stated, run at the sizes
 * of the moment. */
#ifndef TSRI_OPENCL_LAUNCH_H
#define TSRI_OPENCL_LAUNCH_H

#include "backends/opencl/program.h"
#include "base/bytes.h"

enum { TSRI_OPENCL_SCRATCH_ARGS = 4 };

struct tsri_opencl_defines {
    tsri_bytes define, undefine; /* "#define M 6\n", "#undef M\n" */
    tsri_bytes name;             /* "M=6," */
    tsri_opencl_values values;   /* of the row's tunables */
    const tsri_opencl_row *row;
    tsr_status status;
};

/* The row's constants for this op: tunables first, then what the op decides; *tunables (may be
 * NULL) gets them in words. Clear defines also after a failure. */
tsr_status tsri_opencl_defines_of(const tsr_dev *dev, const tsri_opencl_row *row, const tsr_op *op,
                                  const tsri_opencl_wish *wish, tsri_opencl_defines *defines,
                                  tsri_bytes *tunables);
/* The constants of the row's stage before, for these values of the row's tunables. */
tsr_status tsri_opencl_defines_before(const tsri_opencl_row *row, const tsr_op *op,
                                      const tsri_opencl_values *values,
                                      tsri_opencl_defines *defines);
/* Appends the canonical name: "linear/packed:MR=6,W_DTYPE=f16"; of a stage, where not NULL,
 * "pack_rows:MR=6". */
tsr_status tsri_opencl_defines_name(const tsri_opencl_row *row, const tsri_opencl_stage *stage,
                                    const tsri_opencl_defines *defines, tsri_bytes *name);
void tsri_opencl_defines_clear(tsri_opencl_defines *defines);

/* Arguments as a row binds them, for a chain: kind 'p' a buffer (NULL: the device's scratch), 'i'
 * an int, 'f' a float, '8' an int8, 'g' an int16. */
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
    const tsri_opencl_row *row;
    const tsri_opencl_values *values; /* of the row's tunables; the instance's */
    const char *file;                 /* of the kernel; NULL for a provider without one */
    tsri_opencl_launch *before;       /* the row's stage that runs first; owned; NULL: none */
    const tsr_op *op;                 /* borrowed: outlives the launch */
    const tsr_bounds *bounds;
    cl_mem dims;
    cl_kernel kernel; /* owned; NULL for a provider without a file, and for a step of a chain */
    tsri_opencl_trace *trace; /* owned; NULL: arguments are set in the kernel */
    cl_uint n_args;
    tsr_status status; /* the first failure while binding */
    cl_uint scratch_args[TSRI_OPENCL_SCRATCH_ARGS];
    int n_scratch;
    uint64_t scratch_bytes; /* the stage before included */
    tsr_dim grid[3], work;
    int per_item[3];
    size_t group[3];
    uint64_t limit; /* multiply-adds of one enqueue */
};

/* Makes the kernels and lets the row bind them; scratch arguments are left for bind_scratch.
 * Release it also after a failure. */
tsr_status tsri_opencl_launch_create(tsr_dev *dev, const tsri_opencl_instance *instance,
                                     const tsr_op *op, cl_mem dims, tsri_opencl_launch *launch);
/* The same without a kernel: the arguments are kept in launch->trace, those of its stage in
 * launch->before->trace. */
tsr_status tsri_opencl_launch_trace(tsr_dev *dev, const tsri_opencl_instance *instance,
                                    const tsr_op *op, cl_mem dims, tsri_opencl_launch *launch);
tsr_status tsri_opencl_launch_bind_scratch(tsri_opencl_launch *launch);
void tsri_opencl_launch_release(tsri_opencl_launch *launch);

/* Enqueues it, in pieces where it is long. each (where not NULL) is called with the event of every
 * piece, which it then owns; else *last (where not NULL) gets the event of the last piece and stays
 * NULL where nothing was enqueued. */
typedef void tsri_opencl_piece(void *data, cl_event event, uint64_t enqueue_ns);
tsr_status tsri_opencl_launch_run(tsri_opencl_launch *launch, const int64_t sizes[TSR_SYMBOLS],
                                  tsri_opencl_piece *each, void *data, cl_event *last);

/* The device's scratch grows to at least so many bytes; plans made before get the new one bound. */
tsr_status tsri_opencl_scratch_grow(tsr_dev *dev, uint64_t bytes);

#endif
