/* backends/opencl/variants/elements/glu_grad.c - the variants of glu_grad. */
#include "backends/opencl/variants/elements/glu.h"

const tsri_opencl_variant tsri_opencl_variants_glu_grad[] = {
    TSRI_OPENCL_GLU_TABLE(TSR_OP_GLU_GRAD, glu_grad)};
