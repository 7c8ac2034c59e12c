/* backends/opencl/rows/elements/glu_grad.c - the variants of glu_grad. */
#include "backends/opencl/rows/elements/glu.h"

const tsri_opencl_row tsri_opencl_rows_glu_grad[] = {
    TSRI_OPENCL_GLU_TABLE(TSR_OP_GLU_GRAD, glu_grad)};
