/* backends/opencl/variants/reduce/sum_rows.h - what the variants of sum_rows and
 * norm_weight_grad have in common. */
#ifndef TSRI_OPENCL_VARIANTS_REDUCE_SUM_ROWS_H
#define TSRI_OPENCL_VARIANTS_REDUCE_SUM_ROWS_H

#include "backends/opencl/variants/shared/common.h"

bool tsri_opencl_sums_fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why);
bool tsri_opencl_sums_fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why);
void tsri_opencl_sums_define_stage(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines);
void tsri_opencl_sums_define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines);
void tsri_opencl_sums_bind_stage_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                       tsri_opencl_launch *launch);
void tsri_opencl_sums_bind_stage_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                       tsri_opencl_launch *launch);
void tsri_opencl_sums_bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch);
void tsri_opencl_sums_bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch);

#define TSRI_OPENCL_SUMS_STAGE(name_, file_, bind_) \
    { .name = name_, .file = file_, .define = tsri_opencl_sums_define_stage, .bind = bind_ }

/* The table of one of them. */
#define TSRI_OPENCL_SUM_ROWS_TABLE(id, blocks, blocks_lanes)                            \
    {TSRI_OPENCL_LANES(id, "sum_rows", 40, tsri_opencl_sums_fits_lanes,                 \
                       tsri_opencl_sums_define_plain, tsri_opencl_sums_bind_lanes),     \
     .before = &blocks_lanes, .weight_operand = -1},                                    \
        {TSRI_OPENCL_PLAIN(id, "sum_rows", tsri_opencl_sums_fits_plain,                 \
                           tsri_opencl_sums_define_plain, tsri_opencl_sums_bind_plain), \
         .before = &blocks, .weight_operand = -1},                                      \
    {                                                                                   \
        .name = NULL                                                                    \
    }

#endif
