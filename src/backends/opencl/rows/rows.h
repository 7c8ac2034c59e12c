/* backends/opencl/rows/rows.h - all kernel rows, found by their op, name or layout. */
#ifndef TSRI_OPENCL_ROWS_ROWS_H
#define TSRI_OPENCL_ROWS_ROWS_H

#include "backends/opencl/bind/row.h"

/* The rows of an op, best first; NULL-terminated by name == NULL. NULL where the op isn't offered.
 */
const tsri_opencl_row *tsri_opencl_rows_of(tsr_op_id op);
/* What it ranks by on a device: its score, or a tenth of it (less than plain has) for a row made
 * for GPUs on another device. */
int tsri_opencl_row_score(const tsri_opencl_row *row, const tsri_opencl_facts *facts);

/* "linear"; NULL for an unknown op. */
const char *tsri_opencl_op_name(tsr_op_id op);
/* The op of a name of n bytes; TSR_OP_NONE: there is none. */
tsr_op_id tsri_opencl_op_of(const char *name, size_t n);
/* The row of an op by its name of n bytes; NULL: there is none. */
const tsri_opencl_row *tsri_opencl_row_of(tsr_op_id op, const char *name, size_t n);
/* "linear/packed"; NULL: there is none. */
const tsri_opencl_row *tsri_opencl_find_row(const char *name);
const tsri_opencl_layout *tsri_opencl_layout_by_id(uint32_t id); /* NULL: plain, or unknown */

#endif
