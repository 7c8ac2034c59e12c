/* backends/opencl/rows/reduce/topk.c - the variants of topk. */
#include "backends/opencl/rows/reduce/largest.h"

const tsri_opencl_row tsri_opencl_rows_topk[] = {TSRI_OPENCL_LARGEST_ROWS(TSR_OP_TOPK, "topk")};
