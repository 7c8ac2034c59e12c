/* backends/opencl/bind/variant.h - what a kernel variant is, and the few calls by which it binds its
 * operands.
 *
 * A .cl file holds one kernel. A kernel variant is one way to run it: for which op, what it needs,
 * with which build constants, weight layout and score. variants/<kind>/<op>.c has the variants of an op, best first; the
 * last one, "plain", serves every device. Nothing else names a kernel.
 *
 * What a .cl file can count on (program/program.c assembles a program of many instances):
 *   - every file of cl/common/ appears once, at the start of the program, in path order: an
 *     #include of one is dropped; an #include of any other file ("linear/body.clh") is pasted
 *     wherever it appears;
 *   - the kernel is `ENTRY KERNEL(PLACE parameters)`, with ITEM(axis) for the work-item's number
 *     (common/tessera.clh), so that it can be a function of a chain (launch/chain.h); or `__kernel
 *     void KERNEL(parameters)` where its work-items share local memory or wait for each other.
 *     KERNEL is the instance's own name, INSTANCE is the same (for LOCAL_NAME). Both, the build
 *     constants and the tunables are defined before the file and undefined after it;
 *   - long launches are split along the axes of the grid, by an offset: ITEM and
 *     get_global_id count from the start of the grid, get_group_id and get_num_groups within a
 *     piece. A piece is whole work-groups.
 */
#ifndef TSRI_OPENCL_BIND_VARIANT_H
#define TSRI_OPENCL_BIND_VARIANT_H

#include "backends/opencl/driver/facts.h"
#include "tessera/backend.h"

#include <stdbool.h>

typedef struct tsri_opencl_variant tsri_opencl_variant;
typedef struct tsri_opencl_launch tsri_opencl_launch;   /* a launch being described */
typedef struct tsri_opencl_defines tsri_opencl_defines; /* build constants being collected */

enum { TSRI_OPENCL_TUNABLES = 8 };

/* A build constant that changes how fast a variant is. It changes no byte of the result unless the
 * field `batch_variant` below is set. tuning/tuning.h says where the value in force comes from. */
typedef struct tsri_opencl_tunable {
    const char *name;           /* the macro; NULL ends the list */
    int value, lowest, highest; /* default and range */
} tsri_opencl_tunable;

/* The tunable that is the work-items of a sub-group that a kernel asks for (cl/matmul/sub_size.clh); 0:
 * the compiler chooses. It has an effect where facts.sub_sizes is set. */
#define TSRI_OPENCL_SUB_SIZE "SUB"

/* A weight layout: how plain rows of a matrix are packed into what the kernel streams. `store`
 * packs rows first .. first + count - 1 (in the layout's dtype already, row-major, `columns` each)
 * into `out`, which holds exactly the bytes [offset_of(first), offset_of(first + count)) of the
 * buffer. `load` is the reverse. */
typedef struct tsri_opencl_layout {
    const char *name; /* "panels64" */
    uint32_t id;      /* > 0; each layout has its own */
    uint32_t row_block;
    uint64_t (*bytes)(int64_t rows, int64_t columns, uint32_t dtype);
    /* the byte range that rows first .. first + count - 1 cover */
    void (*span)(int64_t rows, int64_t columns, uint32_t dtype, int64_t first, int64_t count,
                 uint64_t *offset, uint64_t *bytes);
    void (*store)(int64_t columns, uint32_t dtype, int64_t count, const void *plain, void *out);
    void (*load)(int64_t columns, uint32_t dtype, int64_t count, const void *stored, void *plain);
} tsri_opencl_layout;

/* A kernel that runs before a variant's own, for the same op, and leaves in scratch what that
 * kernel reads there: activations packed or quantised, partial sums. It has the variant's tunables
 * and shares its scratch: tsri_opencl_arg_scratch is the same memory in both kernels. Variants and
 * ops that define the same constants for a stage share one kernel. What a stage defines follows
 * from what its variant defines, so an instance of the variant has one stage, or none. */
typedef struct tsri_opencl_stage {
    const char *name;                 /* "pack_rows" */
    const char *file;                 /* under cl/ */
    bool newest_c;                    /* as the variant's field */
    bool (*needed)(const tsr_op *op); /* whether the op needs it; NULL: every op does */
    /* As the variant's `define`, but the tunables are defined only by define_tunable. */
    void (*define)(const tsri_opencl_variant *variant, const tsr_op *op,
                   tsri_opencl_defines *defines);
    void (*bind)(const tsri_opencl_variant *variant, const tsr_op *op, tsri_opencl_launch *launch);
} tsri_opencl_stage;

/* What must be tried on a device before its compiler is given the variant: program/probe.h. */
typedef enum tsri_opencl_probe {
    TSRI_OPENCL_PROBE_NONE = 0,
    TSRI_OPENCL_PROBE_VNNI, /* inline assembly for x86-64 with AVX512-VNNI */
    TSRI_OPENCL_PROBE_BF16, /* the same with AVX512-BF16, where it is faster than f32 */
    TSRI_OPENCL_PROBE_AMX,  /* the same with the tiles of AMX-BF16 */
    TSRI_OPENCL_PROBE_DOT,  /* an instruction for dot products of bytes: cl/matmul/dot.clh */
    /* matrix units: cl/units/unit.clh */
    TSRI_OPENCL_PROBE_MMA,    /* NVIDIA, from compute capability 8.0 on */
    TSRI_OPENCL_PROBE_MFMA,   /* AMD MI200 and later */
    TSRI_OPENCL_PROBE_WMMA11, /* AMD RDNA 3 */
    TSRI_OPENCL_PROBE_WMMA12, /* AMD RDNA 4 */
    TSRI_OPENCL_PROBE_DPAS8,  /* Intel Arc A */
    TSRI_OPENCL_PROBE_DPAS16, /* Intel Arc B, Data Center GPU Max */
    TSRI_OPENCL_PROBES
} tsri_opencl_probe;

struct tsri_opencl_variant {
    const char *name; /* the variant's: "plain", "packed" */
    tsr_op_id op;
    const char *file; /* under cl/: "linear/packed.cl"; NULL for a provider that brings its own
                         kernels (enqueue is set). With both, enqueue runs first and the kernel
                         completes its result */
    const tsri_opencl_stage *before; /* NULL: the variant is one kernel; tsri_opencl_stage_of */
    tsri_opencl_probe probe;         /* it fits only where this probe passed */
    /* The group of this op's variants that round alike, and not as plain does: for many rows, for
     * few, for many keys. All of them are used, or none (choose/forms.h). NULL: it rounds as plain,
     * or serves all sizes by itself */
    const char *forms;
    bool plain;         /* serves every device: it has no self-test and is the last resort */
    bool batch_variant; /* a result may have other bytes in a batch than alone */
    bool gpu; /* made for GPUs: on other devices it ranks below plain, for those who force it */
    bool newest_c; /* built as OpenCL C 3.0 or 2.0 where the device has it, in a program of its own:
                      for sub-groups, dot products and halves; its stage has a field of its own */
    const char *alone; /* why it is never part of a chain; NULL: it may be */
    int score;         /* see tsri_opencl_variant_score */
    tsri_opencl_tunable tunables[TSRI_OPENCL_TUNABLES];
    const tsri_opencl_layout *layout; /* of the weight operand; NULL: plain rows */
    int weight_operand;               /* index of the weight among op->in, -1: there is none */
    /* NULL: it always fits. May look at op->bounds (the range of M). *why is set where it does not
     * fit. `variant` is a copy whose tunables have the values in force in place of the defaults
     * (tsri_opencl_variant_tunable); it must not be kept. */
    bool (*fits)(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                 const tsr_op *op, const char **why);
    /* Adds the build constants that the op decides (dtypes, activation, head size, flags). NULL:
     * none. It must not add sizes that change with the bounds: the same constants give the same
     * kernel. */
    void (*define)(const tsri_opencl_variant *variant, const tsr_op *op,
                   tsri_opencl_defines *defines);
    /* Pushes the kernel's arguments in order and states the grid. */
    void (*bind)(const tsri_opencl_variant *variant, const tsr_op *op, tsri_opencl_launch *launch);
    /* For providers (CLBlast): enqueues the op on `queue` at these sizes. *event may stay NULL
     * where nothing was enqueued. */
    tsr_status (*enqueue)(const tsri_opencl_variant *variant, const tsr_op *op,
                          cl_command_queue queue, const int64_t sizes[TSR_SYMBOLS],
                          cl_event *event);
};

/* The stage that the variant has for an op; NULL: none. */
static inline const tsri_opencl_stage *tsri_opencl_stage_of(const tsri_opencl_variant *variant,
                                                            const tsr_op *op) {
    const tsri_opencl_stage *stage = variant->before;
    return stage && (!stage->needed || stage->needed(op)) ? stage : NULL;
}

/* --- for `define` --- the caller adds the variant's tunables, with the values in force */
void tsri_opencl_define_int(tsri_opencl_defines *defines, const char *name, int value);
void tsri_opencl_define_text(tsri_opencl_defines *defines, const char *name, const char *value);
/* -D<name>_DTYPE=TSR_DTYPE_F32|F16|BF16|I32 of an operand, for the LOAD_<...> macros of
 * common/tessera.clh. */
void tsri_opencl_define_dtype(tsri_opencl_defines *defines, const char *name,
                              const tsr_tensor *tensor);

/* Defines a tunable of the variant under its name, with the value in force: for the `define` of a
 * stage. */
void tsri_opencl_define_tunable(tsri_opencl_defines *defines, const char *name);
/* The value in force, for a constant that follows from it. Not for the conditions of a tuning
 * table: they hold whatever values the tunables have. */
int tsri_opencl_define_value(const tsri_opencl_defines *defines, const char *name);

/* --- for `bind` --- Each call binds one or two arguments and names the kernel's parameters that
 * take them; where the driver tells the parameters' names, another name is an internal error.
 * Errors are kept in the launch. */
/* "x" is `__global T *x, int x0`: the buffer, and the index of the first element in it. For NULL (a
 * missing operand) they are the dims buffer and 0; the kernel must not read it (a HAS_... constant
 * says so). */
void tsri_opencl_arg_tensor(tsri_opencl_launch *launch, const char *name, const tsr_tensor *tensor);
/* `__global const int *dims`: the table of symbol products. */
void tsri_opencl_arg_dims(tsri_opencl_launch *launch);
void tsri_opencl_arg_int(tsri_opencl_launch *launch, const char *name,
                         int64_t value); /* refused where it does not fit into an int */
void tsri_opencl_arg_float(tsri_opencl_launch *launch, const char *name, float value);
/* "n" is `int n, int n_set`: the size is n * dims[n_set]. */
void tsri_opencl_arg_dim(tsri_opencl_launch *launch, const char *name, tsr_dim dim);
/* "x" is `int8 x_step, int8 x_set`: the stride factors and symbol sets of the LAST min(rank, 8)
 * dimensions, right-aligned (missing leading ones are 0, 0). The second call does the same for
 * sizes (missing ones are 1), as `int8 size, int8 size_set`. */
void tsri_opencl_arg_strides(tsri_opencl_launch *launch, const char *name,
                             const tsr_tensor *tensor);
void tsri_opencl_arg_sizes(tsri_opencl_launch *launch, const tsr_tensor *tensor);
/* "sizes" is `int16 sizes, int16 sizes_set`: the factors and the symbol sets of n <= 16 sizes or
 * strides. A driver copies each argument at each launch (pocl 3.1: 5 us for 70 of them, 2 us for
 * 20), so many sizes are passed as one argument. */
void tsri_opencl_arg_dim_list(tsri_opencl_launch *launch, const char *name, const tsr_dim *dims,
                              uint32_t n);
/* "sums" is `__global float *sums` of at least that many bytes at the plan's largest sizes; all
 * launches of a device share it. */
void tsri_opencl_arg_scratch(tsri_opencl_launch *launch, const char *name, tsr_dim bytes);
/* The grid along axis 0, 1 or 2: ceil(n / per_item) work-items (per_item > 0). Axes that are not
 * stated have 1. */
void tsri_opencl_grid(tsri_opencl_launch *launch, int axis, tsr_dim n, int per_item);
/* The work-group; the backend chooses where a size is 0 (kernels must work with any). The grid is
 * rounded up to whole work-groups, so kernels must check their bounds. */
void tsri_opencl_group(tsri_opencl_launch *launch, int x, int y, int z);
/* The multiply-adds of one work-item, by which long launches are split along the grid (factor and
 * symbols multiply). */
void tsri_opencl_work(tsri_opencl_launch *launch, tsr_dim per_item);
/* The value in force of a tunable of the variant. */
int tsri_opencl_tuned(const tsri_opencl_launch *launch, const char *name);

#endif
