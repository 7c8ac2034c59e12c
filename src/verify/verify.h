/* verify/verify.h - the cases of each op: shapes, fills and derived bounds. Tests, benchmarks and
 * `tessera verify` run the same cases.
 *
 * A case is one op with a description of its operands. The runner (run.c) fills them, runs the op
 * on the oracle and on a kernel variant, and compares the difference with the case's bound. <op>.c
 * has the cases of an op, in a lattice: sizes 0, 1, prime, tile - 1, tile, tile + 1; strides;
 * dtypes; fills; masks.
 *
 * In the bounds, u is 2^-24, half the relative distance of neighbouring f32 numbers: the largest
 * error of one rounding.
 */
#ifndef TSRI_VERIFY_VERIFY_H
#define TSRI_VERIFY_VERIFY_H

#include "run/run.h"
#include "tensor/shape.h"

#include <stdbool.h>

enum {
    TSRI_VERIFY_MAX_IN = 10,
    TSRI_VERIFY_MAX_OUT = 4,
    TSRI_VERIFY_MAX_LIST = 16,
    TSRI_VERIFY_MARGIN = 3 /* elements on either side of a sliced operand */
};

#define TSRI_VERIFY_U 0x1p-24
/* A bound for results below f32's normal range, which a device may flush to zero. */
#define TSRI_VERIFY_TINY 0x1p-125

typedef enum tsri_verify_fill {
    TSRI_VERIFY_UNIFORM = 0, /* in [low, high) */
    TSRI_VERIFY_INTEGER,     /* integers in [low, high]: their sums are exact */
    TSRI_VERIFY_EQUAL,       /* low everywhere */
    TSRI_VERIFY_ZEROS,       /* +0 and -0 in turn */
    TSRI_VERIFY_EXTREME,     /* low and high, tiny and 1, both signs, in turn */
    TSRI_VERIFY_POWERS,      /* high^(-i/n): the inverse frequencies of rope */
    TSRI_VERIFY_LIST,        /* the operand's list, repeated */
    TSRI_VERIFY_NUMBERS,     /* the operand's four numbers, repeated */
    TSRI_VERIFY_MASK,        /* 0, and -inf with probability `low` */
    TSRI_VERIFY_SOME_NAN,    /* uniform in [-1, 1), and NaN with probability `low` */
    /* (m + r) * high / 127, where m is an integer and |r| <= 0.4, with high at the end or at the
     * start of a row: int8 products quantise the row to m, however its scale is rounded */
    TSRI_VERIFY_STEPS
} tsri_verify_fill;

typedef enum tsri_verify_view {
    TSRI_VERIFY_PACKED = 0,
    TSRI_VERIFY_SLICED,  /* columns from the middle of wider rows */
    TSRI_VERIFY_SWAPPED, /* the first two of the last three (or two) dimensions are exchanged in
                           memory */
    TSRI_VERIFY_AMONG    /* heads from the middle of more heads: q, k and v of one product */
} tsri_verify_view;

typedef struct tsri_verify_operand {
    bool present;
    bool absolute; /* the sum of the terms' magnitudes takes its absolute values (of blocks: those
                      of the numbers that they hold) */
    tsr_kind kind;
    tsr_dtype dtype;
    uint32_t rank;
    tsr_dim dim[TSR_MAX_RANK];
    tsri_verify_fill fill;
    double low, high;
    int32_t list[TSRI_VERIFY_MAX_LIST];
    int n_list;
    float numbers[4];
    tsri_verify_view view;
} tsri_verify_operand;

/* |got - want| <= relative |want| + terms * (sum of the terms' absolute values) + largest * max
 * |want| + absolute. The sum of the terms is the oracle's answer for absolute operands and
 * `term_attrs`. If all four are zero, the answers must be equal; +0 equals -0. */
typedef struct tsri_verify_bound {
    double relative, terms, largest, absolute;
} tsri_verify_bound;

typedef union tsri_verify_attrs {
    uint32_t struct_size;
#define X(id, name, attributes) attributes name;
    TSR_OP_LIST(X)
#undef X
} tsri_verify_attrs;

typedef struct tsri_verify_case {
    char name[96];
    tsr_op_id op;
    uint32_t n_in, want; /* want: bit i for optional output i */
    tsri_verify_operand in[TSRI_VERIFY_MAX_IN];
    tsri_verify_attrs attrs, term_attrs; /* struct_size 0: none */
    int64_t sizes[TSR_SYMBOLS];          /* B T S U N */
    tsri_verify_bound bound[TSRI_VERIFY_MAX_OUT];
    char reason[200]; /* how the bound is derived */
    bool reads_state; /* the states that the op writes are compared, and its result */
    bool sparse;      /* more than half of the expected answer is 0 */
} tsri_verify_case;

typedef struct tsri_verify_list {
    tsri_verify_case *cases;
    size_t n, room;
    tsr_status status;      /* the first failure: later calls do nothing */
    tsri_verify_case spare; /* returned by tsri_verify_add after a failure */
} tsri_verify_list;

/* ---- for <op>.c ---- Returned pointers are valid until the next tsri_verify_add. */
__attribute__((format(printf, 3, 4))) tsri_verify_case *
tsri_verify_add(tsri_verify_list *list, tsr_op_id op, const char *format, ...);
/* Describes operand i; `rank` tsr_dim follow. Its fill is uniform in [-1, 1) unless changed. */
tsri_verify_operand *tsri_verify_in(tsri_verify_case *c, int i, tsr_kind kind, tsr_dtype dtype,
                                    uint32_t rank, ...);
/* Describes operand i as an int32 array of one dimension, with these values. */
void tsri_verify_ints(tsri_verify_case *c, int i, tsr_dim n, int count, const int32_t *values);
__attribute__((format(printf, 2, 3))) void tsri_verify_reason(tsri_verify_case *c,
                                                              const char *format, ...);

#define TSRI_VERIFY_K(n) tsri_tensor_const(n)
#define TSRI_VERIFY_B tsri_tensor_symbol(TSR_SYM_B)
#define TSRI_VERIFY_T tsri_tensor_symbol(TSR_SYM_T)
#define TSRI_VERIFY_S tsri_tensor_symbol(TSR_SYM_S)
#define TSRI_VERIFY_N tsri_tensor_symbol(TSR_SYM_N)

/* Lists all cases of an op, the plainest first; TSR_E_UNSUPPORTED if it has none. The caller frees
 * list->cases. */
tsr_status tsri_verify_cases(tsr_op_id op, tsri_verify_list *list);

#define X(id, name, attributes) void tsri_verify_##name##_cases(tsri_verify_list *list);
TSR_OP_LIST(X)
#undef X

/* ---- data.c ---- */

/* The contents of a case's operands, contiguous arrays of their dtype, and the results of the
 * op. */
typedef struct tsri_verify_values {
    void *in[TSRI_VERIFY_MAX_IN];
    size_t in_bytes[TSRI_VERIFY_MAX_IN];
    void *out[TSRI_VERIFY_MAX_OUT];
    size_t out_bytes[TSRI_VERIFY_MAX_OUT], out_count[TSRI_VERIFY_MAX_OUT];
    tsr_dtype out_dtype[TSRI_VERIFY_MAX_OUT];
    int n_out;
} tsri_verify_values;

/* The dims of the leaf: those of the operand, or of the larger or transposed array of which it is a
 * view. */
void tsri_verify_leaf_dims(const tsri_verify_operand *operand, tsr_dim dims[TSR_MAX_RANK]);
/* Fills the leaves; where `magnitude`, with absolute values for operands that are `absolute`. */
tsr_status tsri_verify_fill_values(const tsri_verify_case *c, bool magnitude,
                                   tsri_verify_values *values);
/* Fills every f32 input with NaN. */
void tsri_verify_poison(const tsri_verify_case *c, tsri_verify_values *values);
void tsri_verify_clear_values(tsri_verify_values *values);

/* ---- run.c ---- */

/* Makes the graph of a case, with these attributes in place of its own. */
tsr_status tsri_verify_graph(const tsri_verify_case *c, const tsri_verify_attrs *attrs,
                             tsri_graph **out);
/* Adds the op of a case to a graph; the ids of its leaves and outputs count from first_id. */
void tsri_verify_append(tsri_graph *graph, const tsri_verify_case *c,
                        const tsri_verify_attrs *attrs, uint32_t first_id);
void tsri_verify_bounds(const tsri_verify_case *c, tsr_bounds *bounds);

typedef struct tsri_verify_place {
    tsri_backend_set *set;
    tsri_backend_device *device;
    const char *kernels; /* the forced kernel variant, or NULL */
    bool decomposed;     /* the op is replaced by its decomposition first */
} tsri_verify_place;

/* Runs the case at that place: first with poisoned inputs, so that an element that is never written
 * stays wrong; then with `values`, whose outputs it fills. */
tsr_status tsri_verify_run(const tsri_verify_case *c, const tsri_verify_attrs *attrs,
                           const tsri_verify_place *place, tsri_verify_values *values);

/* ---- ahead.c ---- */

/* Replaces the op in the graph by its decomposition; *graph is NULL after a failure. */
tsr_status tsri_verify_decompose(tsr_op_id op, tsri_graph **graph);

/* Makes one plan of all these cases of an op and drops it. A device that compiles keeps what it
 * built, so it builds one program instead of one for each case. A failure need not be reported: the
 * case that causes it fails again by itself. */
tsr_status tsri_verify_build_ahead(const tsri_verify_case *const *cases, size_t n,
                                   const tsri_verify_place *place);

/* ---- run.c ---- */

/* Finds the worst element, the one with the largest error/bound. terms is the oracle's answer for
 * absolute values, or NULL. TSR_E_INTERNAL if the expected answer is mostly zeros and the case is
 * not `sparse`. */
typedef struct tsri_verify_worst {
    double error, bound;
    int output;
    size_t element, misses;
    double got, want;
} tsri_verify_worst;
tsr_status tsri_verify_compare(const tsri_verify_case *c, const tsri_verify_values *want,
                               const tsri_verify_values *terms, const tsri_verify_values *got,
                               tsri_verify_worst *out);

#endif
