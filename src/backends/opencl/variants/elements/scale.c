/* backends/opencl/variants/elements/scale.c - the variants of scale. */
#include "backends/opencl/variants/elements/plain.h"

const tsri_opencl_variant tsri_opencl_variants_scale[] = {
    TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_SCALE), TSRI_OPENCL_UNARY(TSR_OP_SCALE)};
