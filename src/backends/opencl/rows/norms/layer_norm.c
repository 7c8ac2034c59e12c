/* backends/opencl/rows/norms/layer_norm.c - the variants of layer_norm. */
#include "backends/opencl/rows/norms/norm.h"

const tsri_opencl_row tsri_opencl_rows_layer_norm[] = {TSRI_OPENCL_NORM_ROWS(TSR_OP_LAYER_NORM)};
