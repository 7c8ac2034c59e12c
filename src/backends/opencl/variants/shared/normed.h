/* backends/opencl/variants/shared/normed.h - the norm of x in linear and glu_linear, on GPUs. A kernel for a
 * few rows norms them itself; before the others, a stage does. */
#ifndef TSRI_OPENCL_VARIANTS_SHARED_NORMED_H
#define TSRI_OPENCL_VARIANTS_SHARED_NORMED_H

#include "backends/opencl/variants/shared/weighted.h"

/* As tsri_opencl_fits_product; with a norm also what cl/weighted/norm.clh needs, and local memory for the
 * tiled variants: where one variant takes a norm, some variant does for any number of rows. */
bool tsri_opencl_fits_normed(const tsri_opencl_facts *facts, const tsr_op *op, const char **why);
/* Whether work-groups of `items` can norm rows themselves; true where x has no norm. */
bool tsri_opencl_fits_norm_group(const tsr_op *op, int64_t items, const char **why);
/* Defines NORM: whether x has a norm. */
void tsri_opencl_define_normed(const tsr_op *op, tsri_opencl_defines *defines);
/* Binds the weight of the norm and its eps; nothing where x has no norm. */
void tsri_opencl_arg_norm(const tsr_op *op, tsri_opencl_launch *launch);
/* The bytes that the stage norm_rows leaves in scratch: the normed rows, packed. */
tsr_dim tsri_opencl_normed_bytes(const tsr_op *op);

#endif
