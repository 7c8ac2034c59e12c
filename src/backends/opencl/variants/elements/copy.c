/* backends/opencl/variants/elements/copy.c - the variants of copy. */
#include "backends/opencl/variants/elements/plain.h"

const tsri_opencl_variant tsri_opencl_variants_copy[] = {TSRI_OPENCL_UNARY(TSR_OP_COPY)};
