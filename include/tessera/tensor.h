/* tessera/tensor.h - data types, dimensions and the descriptor of an array. Types only. */
#ifndef TESSERA_TENSOR_H
#define TESSERA_TENSOR_H

#include "tessera/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The type of an element. The numbers never change. From 32 on: blocks, as the GGUF format defines
 * them. */
typedef enum tsr_dtype {
    TSR_DTYPE_NONE = 0,
    TSR_F32 = 1,
    TSR_F16 = 2,
    TSR_BF16 = 3,
    TSR_F64 = 4,
    TSR_I32 = 5,
    TSR_I64 = 6,
    TSR_I16 = 7,
    TSR_I8 = 8,
    TSR_U8 = 9,
    TSR_BOOL = 10,
    TSR_GGML_Q4_0 = 32,
    TSR_GGML_Q4_1 = 33,
    TSR_GGML_Q5_0 = 34,
    TSR_GGML_Q5_1 = 35,
    TSR_GGML_Q8_0 = 36,
    TSR_GGML_Q4_K = 37,
    TSR_GGML_Q5_K = 38,
    TSR_GGML_Q6_K = 39,
    TSR_GGML_Q2_K = 40,
    TSR_GGML_Q3_K = 41,
    TSR_GGML_IQ4_NL = 42,
    TSR_GGML_IQ4_XS = 43,
    TSR_GGML_MXFP4 = 44
} tsr_dtype;

enum {
    TSR_MAX_RANK = 6,
    TSR_SYMBOLS = 5, /**< how many sizes a run chooses: see tsr_symbol */
    /** How many sets of symbols there are: the length of a table with the product of each set. */
    TSR_SYMBOL_SETS = 1 << TSR_SYMBOLS
};

/** The sizes that change from run to run. A set of them is their bitwise or; 0 is the empty set. */
typedef enum tsr_symbol {
    TSR_SYM_B = 1, /**< sequences in the batch */
    TSR_SYM_T = 2, /**< query positions of each sequence */
    TSR_SYM_S = 4, /**< key positions */
    TSR_SYM_U = 8, /**< source positions (encoder side) */
    /** rows that the caller asked for (positions whose logits are computed, packed rows) */
    TSR_SYM_N = 16
} tsr_symbol;

/** A size or stride: factor times the product of the sizes in `symbols`. A constant has
 * symbols 0. */
typedef struct tsr_dim {
    int64_t factor;
    uint32_t symbols, reserved;
} tsr_dim;

/** What writes an array, and how long it lives. */
typedef enum tsr_kind {
    TSR_KIND_ACTIVATION = 0, /**< written by one op; its contents end with the run */
    TSR_KIND_INPUT = 1,      /**< written by the host before a run */
    TSR_KIND_WEIGHT = 2,     /**< written at load, in the layout that `layout` names */
    TSR_KIND_STATE = 3       /**< lives from run to run; written by ops (kv_append) */
} tsr_kind;

typedef struct tsr_buf tsr_buf; /**< memory of a device; opaque; belongs to the backend */

/** An operand of an op. Dimensions are in row-major order, the last one contiguous unless its
 * stride says otherwise. */
typedef struct tsr_tensor {
    uint32_t struct_size;
    uint32_t dtype;  /**< tsr_dtype of an element as stored */
    uint32_t kind;   /**< tsr_kind */
    uint32_t rank;   /**< 0 .. TSR_MAX_RANK */
    uint32_t layout; /**< of a weight: tsr_layout.id, 0 = plain row-major. Otherwise 0 */
    uint32_t reserved;
    tsr_dim dim[TSR_MAX_RANK];    /**< sizes */
    tsr_dim stride[TSR_MAX_RANK]; /**< in elements; 0 repeats the element (broadcast) */
    int64_t offset;               /**< of the first element from `origin`, in elements */
    /** The memory that holds it; NULL in a query for kernel variants (op_variants), and where no memory
     * has been assigned yet. */
    tsr_buf *buf;
    uint64_t origin; /**< bytes from the start of buf to the storage that `offset` counts in */
} tsr_tensor;

#ifdef __cplusplus
}
#endif
#endif
