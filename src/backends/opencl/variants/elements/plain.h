/* backends/opencl/variants/elements/plain.h - the plain variants of elementwise ops:
 * elementwise/binary.cl for ops of two operands, elementwise/unary.cl for ops of one. */
#ifndef TSRI_OPENCL_VARIANTS_ELEMENTS_PLAIN_H
#define TSRI_OPENCL_VARIANTS_ELEMENTS_PLAIN_H

#include "backends/opencl/variants/shared/elementwise.h"

bool tsri_opencl_fits_binary(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why);
void tsri_opencl_define_binary(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_defines *defines);
void tsri_opencl_bind_binary(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_launch *launch);
bool tsri_opencl_fits_unary(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                            const tsr_op *op, const char **why);
void tsri_opencl_define_unary(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_defines *defines);
void tsri_opencl_bind_unary(const tsri_opencl_variant *variant, const tsr_op *op,
                            tsri_opencl_launch *launch);

#define TSRI_OPENCL_BINARY(id)            \
    {.name = "plain",                     \
     .op = id,                            \
     .file = "elementwise/binary.cl",     \
     .plain = true,                       \
     .score = 10,                         \
     .weight_operand = -1,                \
     .fits = tsri_opencl_fits_binary,     \
     .define = tsri_opencl_define_binary, \
     .bind = tsri_opencl_bind_binary},    \
    {                                     \
        .name = NULL                      \
    }

#define TSRI_OPENCL_UNARY(id)            \
    {.name = "plain",                    \
     .op = id,                           \
     .file = "elementwise/unary.cl",     \
     .plain = true,                      \
     .score = 10,                        \
     .weight_operand = -1,               \
     .fits = tsri_opencl_fits_unary,     \
     .define = tsri_opencl_define_unary, \
     .bind = tsri_opencl_bind_unary},    \
    {                                    \
        .name = NULL                     \
    }

/* Operands and result are f32. */
bool tsri_opencl_fits_f32_elements(const tsri_opencl_variant *variant,
                                   const tsri_opencl_facts *facts, const tsr_op *op,
                                   const char **why);
/* One work-item for each element of y. */
void tsri_opencl_element_each(tsri_opencl_launch *launch, const tsr_tensor *y);

#endif
