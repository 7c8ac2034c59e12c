/* backends/opencl/variants/norms/add_norm.c - the variants of add_norm. */
#include "backends/opencl/variants/norms/norm.h"

const tsri_opencl_variant tsri_opencl_variants_add_norm[] = {
    TSRI_OPENCL_NORM_ROWS(TSR_OP_ADD_NORM)};
