/* backends/opencl/variants/elements/cast.c - the variants of cast. */
#include "backends/opencl/variants/elements/plain.h"

const tsri_opencl_variant tsri_opencl_variants_cast[] = {TSRI_OPENCL_UNARY(TSR_OP_CAST)};
