/* backends/opencl/variants/norms/layer_norm.c - the variants of layer_norm. */
#include "backends/opencl/variants/norms/norm.h"

const tsri_opencl_variant tsri_opencl_variants_layer_norm[] = {
    TSRI_OPENCL_NORM_ROWS(TSR_OP_LAYER_NORM)};
