/* backends/opencl/variants/norms/norm.h - the variants of layer_norm, rms_norm and add_norm,
 * which have one kernel. */
#ifndef TSRI_OPENCL_VARIANTS_NORMS_NORM_H
#define TSRI_OPENCL_VARIANTS_NORMS_NORM_H

#include "backends/opencl/variants/shared/group.h"

bool tsri_opencl_norm_fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why);
bool tsri_opencl_norm_fits_group(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why);
bool tsri_opencl_norm_fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why);
void tsri_opencl_norm_define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines);
void tsri_opencl_norm_define_group(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines);
void tsri_opencl_norm_bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch);
void tsri_opencl_norm_bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch);
void tsri_opencl_norm_bind_group(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch);

/* The table of one of them. */
#define TSRI_OPENCL_NORM_ROWS(id)                                                                  \
    TSRI_OPENCL_GROUP_VARIANTS(id, "norm/group.cl", tsri_opencl_norm_fits_group,                   \
                               tsri_opencl_norm_define_group, tsri_opencl_norm_bind_group),        \
        {TSRI_OPENCL_LANES(id, "norm", 40, tsri_opencl_norm_fits_lanes,                            \
                           tsri_opencl_norm_define_plain, tsri_opencl_norm_bind_lanes),            \
         .weight_operand = -1},                                                                    \
        {TSRI_OPENCL_PLAIN(id, "norm", tsri_opencl_norm_fits_plain, tsri_opencl_norm_define_plain, \
                           tsri_opencl_norm_bind_plain),                                           \
         .weight_operand = -1},                                                                    \
    {                                                                                              \
        .name = NULL                                                                               \
    }

#endif
