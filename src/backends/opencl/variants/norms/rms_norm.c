/* backends/opencl/variants/norms/rms_norm.c - the variants of rms_norm. */
#include "backends/opencl/variants/norms/norm.h"

const tsri_opencl_variant tsri_opencl_variants_rms_norm[] = {
    TSRI_OPENCL_NORM_ROWS(TSR_OP_RMS_NORM)};
