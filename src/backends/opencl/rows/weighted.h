/* backends/opencl/rows/weighted.h - what linear and glu_linear have in common: x, a weight matrix,
 * a bias, an activation; and the two orders in which a weight may lie. */
#ifndef TSRI_OPENCL_ROWS_WEIGHTED_H
#define TSRI_OPENCL_ROWS_WEIGHTED_H

#include "backends/opencl/rows/common.h"

/* Weight, bias, x and y as every row of these ops needs them. */
bool tsri_opencl_fits_weighted(const tsr_op *op, const char **why);
/* In addition, for rows that read panels: a CPU, and a weight of the order that row->layout has. */
bool tsri_opencl_fits_panels(const tsri_opencl_row *row, const tsri_opencl_facts *facts,
                             const tsr_op *op, bool trans_w, const char **why);
/* For rows made for decoding. */
bool tsri_opencl_fits_one_row(const tsr_op *op, const char **why);

/* Rows of x that a work-item of a plain kernel takes. */
int tsri_opencl_tile_rows(const tsr_op *op);

/* W_DTYPE, BIAS_DTYPE, HAS_BIAS, ACT. */
void tsri_opencl_define_weighted(const tsr_op *op, uint32_t activation,
                                 tsri_opencl_defines *defines);
/* TRANS_W and TM of the plain kernels; BLOCK_K of the packed ones. */
void tsri_opencl_define_plain(const tsr_op *op, bool trans_w, tsri_opencl_defines *defines);
void tsri_opencl_define_panels(const tsri_opencl_row *row, tsri_opencl_defines *defines);

#endif
