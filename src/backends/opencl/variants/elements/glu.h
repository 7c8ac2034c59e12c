/* backends/opencl/variants/elements/glu.h - what the variants of glu and glu_grad have in common. */
#ifndef TSRI_OPENCL_VARIANTS_ELEMENTS_GLU_H
#define TSRI_OPENCL_VARIANTS_ELEMENTS_GLU_H

#include "backends/opencl/variants/shared/common.h"

bool tsri_opencl_glu_fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const tsr_op *op, const char **why);
bool tsri_opencl_glu_fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const tsr_op *op, const char **why);
void tsri_opencl_glu_define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                  tsri_opencl_defines *defines);
void tsri_opencl_glu_bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_launch *launch);
void tsri_opencl_glu_bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_launch *launch);

/* The table of one of them. */
#define TSRI_OPENCL_GLU_TABLE(id, name_)                                                         \
    {TSRI_OPENCL_LANES(id, #name_, 50, tsri_opencl_glu_fits_lanes, tsri_opencl_glu_define_plain, \
                       tsri_opencl_glu_bind_lanes),                                              \
     .weight_operand = -1},                                                                      \
        {TSRI_OPENCL_PLAIN(id, #name_, tsri_opencl_glu_fits_plain, tsri_opencl_glu_define_plain, \
                           tsri_opencl_glu_bind_plain),                                          \
         .weight_operand = -1},                                                                  \
    {                                                                                            \
        .name = NULL                                                                             \
    }

#endif
