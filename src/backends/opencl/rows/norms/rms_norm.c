/* backends/opencl/rows/norms/rms_norm.c - the variants of rms_norm. */
#include "backends/opencl/rows/norms/norm.h"

const tsri_opencl_row tsri_opencl_rows_rms_norm[] = {TSRI_OPENCL_NORM_ROWS(TSR_OP_RMS_NORM)};
