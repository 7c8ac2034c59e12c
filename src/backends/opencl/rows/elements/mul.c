/* backends/opencl/rows/elements/mul.c - the variants of mul. */
#include "backends/opencl/rows/elements/plain.h"

const tsri_opencl_row tsri_opencl_rows_mul[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_MUL),
                                                TSRI_OPENCL_BINARY(TSR_OP_MUL)};
