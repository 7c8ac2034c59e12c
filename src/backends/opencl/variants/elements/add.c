/* backends/opencl/variants/elements/add.c - the variants of add. */
#include "backends/opencl/variants/elements/plain.h"

const tsri_opencl_variant tsri_opencl_variants_add[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_ADD),
                                                        TSRI_OPENCL_BINARY(TSR_OP_ADD)};
