/* backends/opencl/rows/elements/cast.c - the variants of cast. */
#include "backends/opencl/rows/elements/plain.h"

const tsri_opencl_row tsri_opencl_rows_cast[] = {TSRI_OPENCL_UNARY(TSR_OP_CAST)};
