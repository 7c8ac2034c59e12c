/* backends/opencl/variants/shared/int8.h - what the int8 variants for GPUs share, those of linear and
 * glu_linear (int8.c) and those of experts: which ops they fit, the local memory and the constants of their
 * kernels, and the stage that quantises x. */
#ifndef TSRI_OPENCL_VARIANTS_SHARED_INT8_H
#define TSRI_OPENCL_VARIANTS_SHARED_INT8_H

#include "backends/opencl/variants/shared/common.h"

/* Whether the op asks for int8 products and has a weight of blocks; whether its weight can lie as
 * panels32_blocks. */
bool tsri_opencl_fits_int8_products(const tsr_op *op, const char **why);
bool tsri_opencl_fits_panels32(const tsr_op *op, const char **why);

/* Bytes of local memory of a tile (cl/matmul/tile_int8.clh). */
int64_t tsri_opencl_int8_tile_bytes(const tsr_op *op, int64_t rows, int64_t columns);

/* The same for a few rows (cl/matmul/few_int8.clh): of each block that all parts of a work-group have in a
 * step; and of the rows that a kernel quantises itself, DIRECT_ROWS at most, if it can do so. */
int64_t tsri_opencl_few_step_bytes(const tsr_op *op, int rows, int split);
enum { TSRI_OPENCL_DIRECT_ROWS = 2 };
int64_t tsri_opencl_direct_bytes(const tsr_op *op, int rows);
bool tsri_opencl_fits_direct(const tsr_op *op, int rows, const char **why);
/* Defines what such a kernel is built with, but for the weight and the epilogue. A variant without a stage
 * quantises x itself. */
void tsri_opencl_define_few_blocks(const tsri_opencl_variant *variant, const tsr_op *op, int rows,
                                   int steps, tsri_opencl_defines *defines);

/* The stage, and the bytes that it writes: a row's numbers, four to a word, and the factors of its blocks of
 * 32, in whole groups of four words; where the weight has minima, what they are multiplied by. */
extern const tsri_opencl_stage tsri_opencl_stage_quantise_rows;
tsr_dim tsri_opencl_quantised_bytes(const tsr_op *op);

#endif
