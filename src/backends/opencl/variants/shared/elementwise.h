/* backends/opencl/variants/shared/elementwise.h - what the variants of elementwise ops share. */
#ifndef TSRI_OPENCL_VARIANTS_SHARED_ELEMENTWISE_H
#define TSRI_OPENCL_VARIANTS_SHARED_ELEMENTWISE_H

#include "backends/opencl/variants/shared/common.h"

/* Whether element i of `a` belongs to element i of `b`, in memory order. */
bool tsri_opencl_is_flat(const tsr_tensor *a, const tsr_tensor *b);
/* The number of the activation that an op applies; NONE for another op. */
uint32_t tsri_opencl_activation_of(tsr_op_id id);

/* elementwise_lanes.c: the variant for CPUs, for packed f32 operands. */
bool tsri_opencl_fits_elementwise_lanes(const tsri_opencl_variant *variant,
                                        const tsri_opencl_facts *facts, const tsr_op *op,
                                        const char **why);
void tsri_opencl_define_elementwise_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                          tsri_opencl_defines *defines);
void tsri_opencl_bind_elementwise_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                        tsri_opencl_launch *launch);
#define TSRI_OPENCL_ELEMENTWISE_LANES(id)                                                          \
    {                                                                                              \
        .name = "lanes", .op = id, .file = "elementwise/lanes.cl", .score = 50,                    \
        .weight_operand = -1, .fits = tsri_opencl_fits_elementwise_lanes,                          \
        .define = tsri_opencl_define_elementwise_lanes, .bind = tsri_opencl_bind_elementwise_lanes \
    }

#endif
