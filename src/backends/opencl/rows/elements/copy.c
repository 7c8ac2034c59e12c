/* backends/opencl/rows/elements/copy.c - the variants of copy. */
#include "backends/opencl/rows/elements/plain.h"

const tsri_opencl_row tsri_opencl_rows_copy[] = {TSRI_OPENCL_UNARY(TSR_OP_COPY)};
