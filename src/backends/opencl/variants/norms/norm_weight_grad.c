/* backends/opencl/variants/norms/norm_weight_grad.c - the variants of norm_weight_grad. */
#include "backends/opencl/variants/reduce/sum_rows.h"

static const tsri_opencl_stage norm_blocks = TSRI_OPENCL_SUMS_STAGE(
                                   "norm_blocks", "norm_weight_grad/blocks.cl",
                                   tsri_opencl_sums_bind_stage_plain),
                               norm_blocks_lanes = TSRI_OPENCL_SUMS_STAGE(
                                   "norm_blocks_lanes", "norm_weight_grad/blocks_lanes.cl",
                                   tsri_opencl_sums_bind_stage_lanes);

const tsri_opencl_variant tsri_opencl_variants_norm_weight_grad[] = {
    TSRI_OPENCL_SUM_ROWS_TABLE(TSR_OP_NORM_WEIGHT_GRAD, norm_blocks, norm_blocks_lanes)};
