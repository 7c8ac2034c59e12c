/* backends/opencl/variants/reduce/largest.h - what the variants of argmax and topk have in common. */
#ifndef TSRI_OPENCL_VARIANTS_REDUCE_LARGEST_H
#define TSRI_OPENCL_VARIANTS_REDUCE_LARGEST_H

#include "backends/opencl/variants/shared/common.h"

bool tsri_opencl_largest_fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                              const tsr_op *op, const char **why);
bool tsri_opencl_largest_fits_lanes(const tsri_opencl_variant *variant,
                                    const tsri_opencl_facts *facts, const tsr_op *op,
                                    const char **why);
void tsri_opencl_largest_define(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_defines *defines);
void tsri_opencl_largest_bind(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_launch *launch);
void tsri_opencl_largest_bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                    tsri_opencl_launch *launch);

/* The table of one of them. */
#define TSRI_OPENCL_LARGEST_ROWS(id, folder)                                                       \
    {TSRI_OPENCL_LANES(id, folder, 50, tsri_opencl_largest_fits_lanes, tsri_opencl_largest_define, \
                       tsri_opencl_largest_bind_lanes),                                            \
     .weight_operand = -1},                                                                        \
        {TSRI_OPENCL_PLAIN(id, folder, tsri_opencl_largest_fits, tsri_opencl_largest_define,       \
                           tsri_opencl_largest_bind),                                              \
         .weight_operand = -1},                                                                    \
    {                                                                                              \
        .name = NULL                                                                               \
    }

#endif
