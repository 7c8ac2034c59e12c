/* backends/opencl/rows/elements/add.c - the variants of add. */
#include "backends/opencl/rows/elements/plain.h"

const tsri_opencl_row tsri_opencl_rows_add[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_ADD),
                                                TSRI_OPENCL_BINARY(TSR_OP_ADD)};
