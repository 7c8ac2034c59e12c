/* backends/opencl/variants/reduce/largest.h - what the variants of argmax and topk have in common. */
#ifndef TSRI_OPENCL_VARIANTS_REDUCE_LARGEST_H
#define TSRI_OPENCL_VARIANTS_REDUCE_LARGEST_H

#include "backends/opencl/variants/shared/group.h"

/* Of the variants `parts`, made for GPUs: a stage takes parts of GROUP * EACH elements of a row. */
enum { TSRI_OPENCL_LARGEST_GROUP = 64, TSRI_OPENCL_LARGEST_EACH = 16 };

bool tsri_opencl_largest_fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                              const tsr_op *op, const char **why);
bool tsri_opencl_largest_fits_lanes(const tsri_opencl_variant *variant,
                                    const tsri_opencl_facts *facts, const tsr_op *op,
                                    const char **why);
/* words: of 8 bytes in scratch, for each part. bytes: local memory of a work-group. */
bool tsri_opencl_largest_fits_parts(const tsri_opencl_facts *facts, const tsr_op *op, int64_t words,
                                    int64_t bytes, const char **why);
void tsri_opencl_largest_define(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_defines *defines);
void tsri_opencl_largest_define_parts(const tsri_opencl_variant *variant, const tsr_op *op,
                                      tsri_opencl_defines *defines);
void tsri_opencl_largest_bind(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_launch *launch);
/* That scratch; the arguments and the grid that both stages have; the grid of the kernels. */
void tsri_opencl_largest_arg_parts(const tsr_op *op, const char *name, int64_t words,
                                   tsri_opencl_launch *launch);
void tsri_opencl_largest_bind_stage(const tsr_op *op, const char *name, int64_t words,
                                    tsri_opencl_launch *launch);
void tsri_opencl_largest_group(const tsr_op *op, int64_t work, tsri_opencl_launch *launch);

/* The end of the table of one of them. */
#define TSRI_OPENCL_LARGEST_ROWS(id, folder)                                                       \
    {TSRI_OPENCL_LANES(id, folder, 50, tsri_opencl_largest_fits_lanes, tsri_opencl_largest_define, \
                       tsri_opencl_largest_bind),                                                  \
     .weight_operand = -1},                                                                        \
        {TSRI_OPENCL_PLAIN(id, folder, tsri_opencl_largest_fits, tsri_opencl_largest_define,       \
                           tsri_opencl_largest_bind),                                              \
         .weight_operand = -1},                                                                    \
    {                                                                                              \
        .name = NULL                                                                               \
    }

#endif
