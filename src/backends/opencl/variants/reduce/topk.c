/* backends/opencl/variants/reduce/topk.c - the variants of topk. */
#include "backends/opencl/variants/reduce/largest.h"

const tsri_opencl_variant tsri_opencl_variants_topk[] = {
    TSRI_OPENCL_LARGEST_ROWS(TSR_OP_TOPK, "topk")};
