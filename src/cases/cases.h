/* cases/cases.h - the cases of each op: shapes, fills and derived bounds. `tessera verify` and the
 * tests run the same cases.
 *
 * A case is one op with a description of its operands. contents.c fills them, graph.c makes the
 * graph that computes it; verify/ runs the op on the oracle and on a kernel variant, and compares
 * the difference with the case's bound. <kind>/<op>.c has the cases of an op, in a lattice: sizes
 * 0, 1, prime, tile - 1, tile, tile + 1; strides; dtypes; fills; masks.
 *
 * In the bounds, u is 2^-24, half the relative distance of neighbouring f32 numbers: the largest
 * error of one rounding.
 */
#ifndef TSRI_CASES_CASES_H
#define TSRI_CASES_CASES_H

#include "graph/graph.h"
#include "tensor/shape.h"

#include <stdbool.h>

enum {
    TSRI_CASE_MAX_IN = 11,
    TSRI_CASE_MAX_OUT = 4,
    TSRI_CASE_MAX_LIST = 16,
    TSRI_CASE_MARGIN = 3 /* elements on either side of a sliced operand */
};

#define TSRI_CASE_U 0x1p-24
/* of |v|: what the erf of cl/elementwise/gelu_bf16.clh, off by up to 1.7e-4, adds to the error of gelu(v) */
#define TSRI_CASE_GELU_OF_BF16 9e-5
/* A bound for results below f32's normal range, which a device may flush to zero. */
#define TSRI_CASE_TINY 0x1p-125

typedef enum tsri_case_fill {
    TSRI_CASE_UNIFORM = 0, /* in [low, high) */
    TSRI_CASE_INTEGER,     /* integers in [low, high]: their sums are exact */
    TSRI_CASE_EQUAL,       /* low everywhere */
    TSRI_CASE_ZEROS,       /* +0 and -0 in turn */
    TSRI_CASE_EXTREME,     /* low and high, tiny and 1, both signs, in turn */
    TSRI_CASE_POWERS,      /* high^(-i/n): the inverse frequencies of rope */
    TSRI_CASE_LIST,        /* the operand's list, repeated */
    TSRI_CASE_NUMBERS,     /* the operand's four numbers, repeated */
    TSRI_CASE_MASK,        /* 0, and -inf with probability `low` */
    TSRI_CASE_SOME_NAN,    /* uniform in [-1, 1), and NaN with probability `low` */
    /* (m + r) * most / 127, where m is an integer and |r| <= 0.4, with `most` at the end or at the
     * start of each block of 32 in a row; most is high, or a half or a third of it, in turn: int8
     * products quantise the block to m, however its scale is rounded */
    TSRI_CASE_STEPS
} tsri_case_fill;

typedef enum tsri_case_view {
    TSRI_CASE_PACKED = 0,
    TSRI_CASE_SLICED,  /* columns from the middle of wider rows */
    TSRI_CASE_SWAPPED, /* the first two of the last three (or two) dimensions are exchanged in
                           memory */
    TSRI_CASE_AMONG    /* heads from the middle of more heads: q, k and v of one product */
} tsri_case_view;

typedef struct tsri_case_operand {
    bool present;
    bool absolute; /* the sum of the terms' magnitudes takes its absolute values (of blocks: those
                      of the numbers that they hold) */
    tsr_kind kind;
    tsr_dtype dtype;
    uint32_t rank;
    tsr_dim dim[TSR_MAX_RANK];
    tsri_case_fill fill;
    double low, high;
    int32_t list[TSRI_CASE_MAX_LIST];
    int n_list;
    float numbers[4];
    tsri_case_view view;
} tsri_case_operand;

/* |got - want| <= relative |want| + terms * (sum of the terms' absolute values) + largest * max
 * |want| + absolute. The sum of the terms is the oracle's answer for absolute operands and
 * `term_attrs`. If all four are zero, the answers must be equal; +0 equals -0. */
typedef struct tsri_case_bound {
    double relative, terms, largest, absolute;
} tsri_case_bound;

typedef union tsri_case_attrs {
    uint32_t struct_size;
#define X(id, name, attributes) attributes name;
    TSR_OP_LIST(X)
#undef X
} tsri_case_attrs;

typedef struct tsri_case {
    char name[96];
    tsr_op_id op;
    uint32_t n_in, want; /* want: bit i for optional output i */
    tsri_case_operand in[TSRI_CASE_MAX_IN];
    tsri_case_attrs attrs, term_attrs; /* struct_size 0: none */
    int64_t sizes[TSR_SYMBOLS];        /* B T S U N */
    int64_t most[TSR_SYMBOLS];         /* what its plan is made for, where that is more */
    tsri_case_bound bound[TSRI_CASE_MAX_OUT];
    char reason[200]; /* how the bound is derived */
    bool reads_state; /* the states that the op writes are compared, and its result */
    bool sparse;      /* more than half of the expected answer is 0 */
    bool timed;       /* too large to compare; its sizes are those of models */
    bool edge;        /* goes past the edge of a tile in one direction, and is small otherwise */
} tsri_case;

typedef struct tsri_case_list {
    tsri_case *cases;
    size_t n, room;
    tsr_status status; /* the first failure: later calls do nothing */
    tsri_case spare;   /* returned by tsri_case_add after a failure */
} tsri_case_list;

/* ---- for <op>.c ---- Returned pointers are valid until the next tsri_case_add. */
__attribute__((format(PRINTF, 3, 4))) tsri_case *tsri_case_add(tsri_case_list *list, tsr_op_id op,
                                                               const char *format, ...);
/* Describes operand i; `rank` tsr_dim follow. Its fill is uniform in [-1, 1) unless changed. */
tsri_case_operand *tsri_case_in(tsri_case *c, int i, tsr_kind kind, tsr_dtype dtype, uint32_t rank,
                                ...);
/* Describes operand i as an int32 array of one dimension, with these values. */
void tsri_case_ints(tsri_case *c, int i, tsr_dim n, int count, const int32_t *values);
__attribute__((format(PRINTF, 2, 3))) void tsri_case_reason(tsri_case *c, const char *format, ...);

#define TSRI_CASE_K(n) tsri_tensor_const(n)
#define TSRI_CASE_B tsri_tensor_symbol(TSR_SYM_B)
#define TSRI_CASE_T tsri_tensor_symbol(TSR_SYM_T)
#define TSRI_CASE_S tsri_tensor_symbol(TSR_SYM_S)
#define TSRI_CASE_N tsri_tensor_symbol(TSR_SYM_N)

/* Lists the cases of an op that are compared with the oracle, the plainest first; TSR_E_UNSUPPORTED
 * if it has none. The caller frees list->cases. */
tsr_status tsri_cases_of(tsr_op_id op, tsri_case_list *list);
/* Lists the cases of an op that are timed: those that are marked so, or its largest. */
tsr_status tsri_cases_timed(tsr_op_id op, tsri_case_list *list);

#define X(id, name, attributes) void tsri_cases_##name(tsri_case_list *list);
TSR_OP_LIST(X)
#undef X

/* ---- contents.c ---- */

/* The contents of a case's operands, contiguous arrays of their dtype, and the results of the
 * op. */
typedef struct tsri_case_values {
    void *in[TSRI_CASE_MAX_IN];
    size_t in_bytes[TSRI_CASE_MAX_IN];
    void *out[TSRI_CASE_MAX_OUT];
    size_t out_bytes[TSRI_CASE_MAX_OUT], out_count[TSRI_CASE_MAX_OUT];
    tsr_dtype out_dtype[TSRI_CASE_MAX_OUT];
    int n_out;
} tsri_case_values;

/* The dims of the leaf: those of the operand, or of the larger or transposed array of which it is a
 * view. */
void tsri_case_leaf_dims(const tsri_case_operand *operand, tsr_dim dims[TSR_MAX_RANK]);
/* Fills the leaves; where `magnitude`, with absolute values for operands that are `absolute`. */
tsr_status tsri_case_values_fill(const tsri_case *c, bool magnitude, tsri_case_values *values);
/* Fills every f32 input with NaN. */
void tsri_case_values_poison(const tsri_case *c, tsri_case_values *values);
void tsri_case_values_clear(tsri_case_values *values);

/* ---- graph.c ---- */

/* Makes the graph of a case, with these attributes in place of its own. */
tsr_status tsri_case_graph(const tsri_case *c, const tsri_case_attrs *attrs, tsri_graph **out);
/* Adds the op of a case to a graph; the ids of its leaves and outputs count from first_id. */
void tsri_case_append(tsri_graph *graph, const tsri_case *c, const tsri_case_attrs *attrs,
                      uint32_t first_id);
void tsri_case_bounds(const tsri_case *c, tsr_bounds *bounds);

#endif
