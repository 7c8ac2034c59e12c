/* backends/opencl/rows/norms/add_norm.c - the variants of add_norm. */
#include "backends/opencl/rows/norms/norm.h"

const tsri_opencl_row tsri_opencl_rows_add_norm[] = {TSRI_OPENCL_NORM_ROWS(TSR_OP_ADD_NORM)};
