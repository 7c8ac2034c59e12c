/* backends/opencl/bind/row.h - what a kernel row is, and the few calls by which it binds its
 * operands.
 *
 * A .cl file holds one kernel. A row is an instance of it: which op, what it needs, build
 * constants, weight layout, score. rows/<op>.c has the rows of an op, best first; the last one,
 * "plain", serves every device. Nothing else names a kernel.
 *
 * What a .cl file can count on (program/program.c assembles a program of many instances):
 *   - every file of cl/common/ stands once at the start of the program, in path order: an #include
 * of one is dropped; an #include of another file ("linear/body.clh") is pasted at each place;
 *   - the kernel is `__kernel void KERNEL(args)`: KERNEL is the instance's own name, INSTANCE the
 * same (for LOCAL_NAME of common/tessera.clh); both, the build constants and the tunables are
 * defined before the file and undefined after it;
 *   - long launches are split along axes of the grid with an offset: use get_global_id
 * (get_group_id and get_num_groups count within a piece). Pieces are whole work-groups.
 */
#ifndef TSRI_OPENCL_BIND_ROW_H
#define TSRI_OPENCL_BIND_ROW_H

#include "backends/opencl/driver/facts.h"
#include "tessera/backend.h"

#include <stdbool.h>

typedef struct tsri_opencl_row tsri_opencl_row;
typedef struct tsri_opencl_launch tsri_opencl_launch;   /* a launch being described */
typedef struct tsri_opencl_defines tsri_opencl_defines; /* build constants being collected */

enum { TSRI_OPENCL_TUNABLES = 6 };

/* A build constant that changes how fast a row is, and no byte of what it gives unless the row is a
 * `variant`. tuning/tuning.h says where the value in force comes from. */
typedef struct tsri_opencl_tunable {
    const char *name;           /* the macro; NULL ends the list */
    int value, lowest, highest; /* default and range */
} tsri_opencl_tunable;

/* A weight layout: how plain rows become what the kernel streams. `store` places rows first ..
 * first + count - 1 (already in layout dtype, row-major, `columns` each) into `out`, which holds
 * exactly the bytes [offset_of(first), offset_of(first + count)) of the buffer; `load` is the
 * reverse. */
typedef struct tsri_opencl_layout {
    const char *name; /* "panels64" */
    uint32_t id;      /* > 0, one a layout */
    uint32_t row_block;
    uint64_t (*bytes)(int64_t rows, int64_t columns, uint32_t dtype);
    /* byte range that rows first .. first + count - 1 cover */
    void (*span)(int64_t rows, int64_t columns, uint32_t dtype, int64_t first, int64_t count,
                 uint64_t *offset, uint64_t *bytes);
    void (*store)(int64_t columns, uint32_t dtype, int64_t count, const void *plain, void *out);
    void (*load)(int64_t columns, uint32_t dtype, int64_t count, const void *stored, void *plain);
} tsri_opencl_layout;

/* A kernel that runs before a row's own, for the same op, and leaves in scratch what that one reads
 * there: activations packed or quantised, partial sums. It has the row's tunables, and shares its
 * scratch: both kernels' tsri_opencl_arg_scratch is the same memory. Rows and ops that define the
 * same constants for a stage share one kernel. What a stage defines follows from what its row
 * defines: an instance of the row has one stage. */
typedef struct tsri_opencl_stage {
    const char *name; /* "pack_rows" */
    const char *file; /* under cl/ */
    /* As the row's; the row's tunables are not defined unless define_tunable is called. */
    void (*define)(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_defines *defines);
    void (*bind)(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch);
} tsri_opencl_stage;

/* What a row may ask of a device before its compiler is shown the row: program/probe.h. */
typedef enum tsri_opencl_probe {
    TSRI_OPENCL_PROBE_NONE = 0,
    TSRI_OPENCL_PROBE_VNNI, /* inline assembly of x86-64 with AVX512-VNNI */
    TSRI_OPENCL_PROBES
} tsri_opencl_probe;

struct tsri_opencl_row {
    const char *name; /* variant: "plain", "packed" */
    tsr_op_id op;
    const char *file; /* under cl/: "linear/packed.cl"; NULL for a provider that brings its own
                         kernels (enqueue is set). With both, enqueue runs first and the kernel
                         finishes its result */
    const tsri_opencl_stage *before; /* NULL: the row is one kernel */
    tsri_opencl_probe probe;         /* it fits only where this one passed */
    bool plain;    /* the row that serves every device: no self-test, last resort */
    bool variant;  /* may give other bytes in a batch than alone */
    bool gpu;      /* made for GPUs: elsewhere it ranks below plain, for those who force it */
    bool newest_c; /* built as OpenCL C 3.0 or 2.0 where the device has it, in a program of its own:
                      for sub-groups, dot products and halves; not its stage */
    bool alone;    /* its items run for milliseconds, so that who waits for one would leave a chain:
                      it is launched by itself */
    int score;     /* see tsri_opencl_row_score */
    tsri_opencl_tunable tunables[TSRI_OPENCL_TUNABLES];
    const tsri_opencl_layout *layout; /* of the weight operand; NULL: plain */
    int weight_operand;               /* index of the weight among op->in, -1: none */
    /* NULL: always. May look at op->bounds (M range). *why is set where the answer is no. */
    bool (*fits)(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                 const char **why);
    /* Adds the build constants that the op decides (dtypes, activation, head size, flags). NULL:
     * none. Not sizes that change with the bounds: the same constants give the same kernel. */
    void (*define)(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_defines *defines);
    /* Pushes the kernel's arguments in order and states the grid. */
    void (*bind)(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch);
    /* Providers (CLBlast): enqueues the op on `queue` at these sizes. *event may stay NULL where
     * nothing was enqueued. */
    tsr_status (*enqueue)(const tsri_opencl_row *row, const tsr_op *op, cl_command_queue queue,
                          const int64_t sizes[TSR_SYMBOLS], cl_event *event);
};

/* --- for define --- the tunables of the row are added by the caller, with the values in force */
void tsri_opencl_define_int(tsri_opencl_defines *defines, const char *name, int value);
void tsri_opencl_define_text(tsri_opencl_defines *defines, const char *name, const char *value);
/* -D<name>_DTYPE=TSR_DTYPE_F32|F16|BF16|I32 of an operand, for the LOAD_<...> macros of
 * common/tessera.clh */
void tsri_opencl_define_dtype(tsri_opencl_defines *defines, const char *name,
                              const tsr_tensor *tensor);

/* The value in force of a tunable of the row, under its name: for the define of a stage. */
void tsri_opencl_define_tunable(tsri_opencl_defines *defines, const char *name);
/* The value itself, for a constant that follows from it. Not for conditions of a table: those hold
 * whatever the tunables are. */
int tsri_opencl_define_value(const tsri_opencl_defines *defines, const char *name);

/* --- for bind --- Each push is one kernel argument unless said. Errors are kept in the launch. */
/* Two arguments: `__global T *x, int x0`: the buffer and the first element's index in it. NULL (a
 * missing operand): the dims buffer and 0; the kernel must not read it (a HAS_... constant says
 * so). */
void tsri_opencl_arg_tensor(tsri_opencl_launch *launch, const tsr_tensor *tensor);
/* `__global const int *dims`: the table of symbol products. */
void tsri_opencl_arg_dims(tsri_opencl_launch *launch);
void tsri_opencl_arg_int(tsri_opencl_launch *launch,
                         int64_t value); /* refused where it doesn't fit int */
void tsri_opencl_arg_float(tsri_opencl_launch *launch, float value);
/* Two int arguments `int n, int n_set`: the size is n * dims[n_set]. */
void tsri_opencl_arg_dim(tsri_opencl_launch *launch, tsr_dim dim);
/* Two int8 arguments: stride factors and symbol sets of the LAST min(rank, 8) dimensions,
 * right-aligned (missing leading ones are 0, 0). And the same for sizes (missing ones are 1). */
void tsri_opencl_arg_strides(tsri_opencl_launch *launch, const tsr_tensor *tensor);
void tsri_opencl_arg_sizes(tsri_opencl_launch *launch, const tsr_tensor *tensor);
/* Two int16 arguments: the factors and the symbol sets of n <= 16 sizes or strides. A driver copies
 * each argument at each launch (pocl 3.1: 5 us for 70 of them, 2 for 20), so that many sizes go as
 * one. */
void tsri_opencl_arg_dim_list(tsri_opencl_launch *launch, const tsr_dim *dims, uint32_t n);
/* `__global float *scratch` of at least so many bytes at the plan's largest sizes; shared by all
 * launches of a device. */
void tsri_opencl_arg_scratch(tsri_opencl_launch *launch, tsr_dim bytes);
/* The grid along axis 0, 1 or 2: ceil(n / per_item) work-items (per_item > 0). Unstated axes are 1.
 */
void tsri_opencl_grid(tsri_opencl_launch *launch, int axis, tsr_dim n, int per_item);
/* The work-group; a 0 is chosen by the backend (kernels must take any). The grid is rounded up to
 * it: kernels guard. */
void tsri_opencl_group(tsri_opencl_launch *launch, int x, int y, int z);
/* Multiply-adds of one work-item, for splitting long launches along the grid (constant and symbol
 * part multiply). */
void tsri_opencl_work(tsri_opencl_launch *launch, tsr_dim per_item);
/* The value in force of a tunable of the row. */
int tsri_opencl_tuned(const tsri_opencl_launch *launch, const char *name);

#endif
