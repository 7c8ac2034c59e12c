/* backends/opencl/variants/reduce/argmax.c - the variants of argmax. */
#include "backends/opencl/variants/reduce/largest.h"

const tsri_opencl_variant tsri_opencl_variants_argmax[] = {
    TSRI_OPENCL_LARGEST_ROWS(TSR_OP_ARGMAX, "argmax")};
