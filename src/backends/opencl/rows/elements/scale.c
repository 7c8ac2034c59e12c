/* backends/opencl/rows/elements/scale.c - the variants of scale. */
#include "backends/opencl/rows/elements/plain.h"

const tsri_opencl_row tsri_opencl_rows_scale[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_SCALE),
                                                  TSRI_OPENCL_UNARY(TSR_OP_SCALE)};
