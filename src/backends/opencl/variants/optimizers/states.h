/* backends/opencl/variants/optimizers/states.h - what the variants of sumsq, adamw and sgd, over
 * packed states, have in common. */
#ifndef TSRI_OPENCL_VARIANTS_OPTIMIZERS_STATES_H
#define TSRI_OPENCL_VARIANTS_OPTIMIZERS_STATES_H

#include "backends/opencl/variants/shared/common.h"

bool tsri_opencl_state_fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                            const tsr_op *op, const char **why);
bool tsri_opencl_state_fits_lanes(const tsri_opencl_variant *variant,
                                  const tsri_opencl_facts *facts, const tsr_op *op,
                                  const char **why);
/* Binds all operands, then the number of elements of `like`. */
void tsri_opencl_state_operands(const tsr_op *op, const tsr_tensor *like,
                                tsri_opencl_launch *launch);
/* One work-item for each element of the first operand. */
void tsri_opencl_state_element_each(const tsr_op *op, tsri_opencl_launch *launch);

#endif
