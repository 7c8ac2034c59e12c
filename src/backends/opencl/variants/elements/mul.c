/* backends/opencl/variants/elements/mul.c - the variants of mul. */
#include "backends/opencl/variants/elements/plain.h"

const tsri_opencl_variant tsri_opencl_variants_mul[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_MUL),
                                                        TSRI_OPENCL_BINARY(TSR_OP_MUL)};
