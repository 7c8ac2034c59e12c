/* backends/opencl/rows/shared/weighted.h - what linear and glu_linear have in common (x, a weight
 * matrix, a bias, an activation), and what the files of their variants share. */
#ifndef TSRI_OPENCL_ROWS_SHARED_WEIGHTED_H
#define TSRI_OPENCL_ROWS_SHARED_WEIGHTED_H

#include "backends/opencl/rows/shared/common.h"

/* Whether weight, bias, x and y are as every variant of these ops needs them. */
bool tsri_opencl_fits_weighted(const tsr_op *op, const char **why);
/* In addition, for variants that read panels: a CPU, and a whole weight of [outputs, inputs]. */
bool tsri_opencl_fits_tiles(const tsri_opencl_facts *facts, const tsr_op *op, bool trans_w,
                            const char **why);
/* The same, with a weight of f32, f16 or bf16. */
bool tsri_opencl_fits_panels(const tsri_opencl_facts *facts, const tsr_op *op, bool trans_w,
                             const char **why);
/* For variants made for decoding: at most so many rows of x (1 or FEW_ROWS); below, few outputs for
 * the number of cores. */
enum { TSRI_OPENCL_FEW_ROWS = 8 };
bool tsri_opencl_fits_few_rows(const tsr_op *op, int most, const char **why);
bool tsri_opencl_fits_few_panels(const tsri_opencl_facts *facts, const tsr_op *op,
                                 const char **why);

/* The rows of x that a work-item of a plain kernel takes. */
int tsri_opencl_tile_rows(const tsr_op *op);

/* Defines W_DTYPE, BIAS_DTYPE, HAS_BIAS and ACT. */
void tsri_opencl_define_weighted(const tsr_op *op, uint32_t activation,
                                 tsri_opencl_defines *defines);
/* Defines TRANS_W, INT8 and TM of the plain kernels. */
void tsri_opencl_define_plain(const tsr_op *op, bool trans_w, uint32_t compute,
                              tsri_opencl_defines *defines);

/* define_weighted, and HAS_RESIDUAL. */
void tsri_opencl_define_linear(const tsr_op *op, tsri_opencl_defines *defines);
/* Binds the arguments that every kernel of the op takes, and the work of a tile; the variant binds
 * the grid.
 *   linear      x w bias residual y, dims, R, N, K, row strides of x, residual and y
 *   glu_linear  x w bias y, dims, R, F, K, row strides of x and y */
void tsri_opencl_bind_linear(const tsr_op *op, tsri_opencl_launch *launch, int tile_m, int tile_n);
void tsri_opencl_bind_glu_linear(const tsr_op *op, tsri_opencl_launch *launch, int tile_m,
                                 int tile_n);

#endif
