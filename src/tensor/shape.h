/* tensor/shape.h - arithmetic on dimensions and descriptors; no memory, no I/O. */
#ifndef TSRI_TENSOR_SHAPE_H
#define TSRI_TENSOR_SHAPE_H

#include "tessera/op.h"

#include <stdbool.h>

/* sizes: TSR_SYMBOLS numbers in the order B T S U N. */

tsr_dim tsri_tensor_const(int64_t n);
tsr_dim tsri_tensor_symbol(uint32_t symbols);    /* 1 * the product of the symbols */
tsr_dim tsri_tensor_times(tsr_dim a, tsr_dim b); /* each symbol may occur once; this is asserted */
bool tsri_tensor_same_dim(tsr_dim a, tsr_dim b);
bool tsri_tensor_is_one(tsr_dim a);

/* The table in a dims buffer: table[set] = the product of the sizes of the symbols in set. The
 * caller has checked that each fits int32. */
void tsri_tensor_dims_table(const int64_t sizes[TSR_SYMBOLS], int32_t table[TSR_SYMBOL_SETS]);
int64_t tsri_tensor_value(tsr_dim dim, const int64_t sizes[TSR_SYMBOLS]);

/* The number of elements (the product of dim), and the product of all dimensions except the
 * last. */
tsr_dim tsri_tensor_count(const tsr_tensor *tensor);
tsr_dim tsri_tensor_rows(const tsr_tensor *tensor);
tsr_dim tsri_tensor_columns(const tsr_tensor *tensor); /* the last dimension; 1 for rank 0 */

/* Fills stride for a contiguous row-major array of tensor->dim. */
void tsri_tensor_pack(tsr_tensor *tensor);
bool tsri_tensor_is_packed(const tsr_tensor *tensor);
/* True where the leading dimensions collapse to one, so that element (r, c) of the [rows, columns]
 * view is at offset + r * row_stride + c with a constant row_stride, which is then set. The last
 * dimension must be contiguous. */
bool tsri_tensor_collapses(const tsr_tensor *tensor, int64_t *row_stride);
/* The same for rows in groups, such as heads that lie among others: row r is at offset + r * stride +
 * r / group * gap. Rows of one stride are groups of 1 without a gap. */
typedef struct tsri_tensor_grouped {
    int64_t stride, group, gap;
} tsri_tensor_grouped;
bool tsri_tensor_collapses_to_groups(const tsr_tensor *tensor, tsri_tensor_grouped *rows);
/* How many bytes of storage, from its element 0 on, the descriptor covers at these sizes (0 where
 * it has no element). */
uint64_t tsri_tensor_extent(const tsr_tensor *tensor, const int64_t sizes[TSR_SYMBOLS]);

/* "f32", "bf16", "q4_K"; "?" for a number that is not a dtype */
const char *tsri_tensor_dtype_name(tsr_dtype dtype);

/* "[B,T,768]" into text (at least 96 bytes); returns text. */
const char *tsri_tensor_print(const tsr_tensor *tensor, char text[96]);

#endif
