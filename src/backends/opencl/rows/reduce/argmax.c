/* backends/opencl/rows/reduce/argmax.c - the variants of argmax. */
#include "backends/opencl/rows/reduce/largest.h"

const tsri_opencl_row tsri_opencl_rows_argmax[] = {
    TSRI_OPENCL_LARGEST_ROWS(TSR_OP_ARGMAX, "argmax")};
