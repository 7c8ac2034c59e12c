/* backends/opencl/variants/losses/loss.h - what the variants of cross_entropy,
 * kl_divergence and their gradients have in common. */
#ifndef TSRI_OPENCL_VARIANTS_LOSSES_LOSS_H
#define TSRI_OPENCL_VARIANTS_LOSSES_LOSS_H

#include "backends/opencl/variants/shared/group.h"

bool tsri_opencl_loss_fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why);
bool tsri_opencl_loss_fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why);
bool tsri_opencl_loss_fits_group(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why);

/* Those for GPUs have a work-group for each row. */
void tsri_opencl_loss_define_entropy(const tsri_opencl_variant *variant, const tsr_op *op,
                                     tsri_opencl_defines *defines);
void tsri_opencl_loss_define_divergence(const tsri_opencl_variant *variant, const tsr_op *op,
                                        tsri_opencl_defines *defines);

/* Binds the operands and results, then R and V, then the row strides of the logits, of a teacher
 * and of a gradient. */
void tsri_opencl_loss_operands(const tsr_op *op, tsri_opencl_launch *launch);
/* A work-group for each row. */
void tsri_opencl_loss_group_row(const tsr_op *op, tsri_opencl_launch *launch);
/* One work-item for each row, which does `work` for each class. */
void tsri_opencl_loss_row_each(const tsr_op *op, int64_t work, tsri_opencl_launch *launch);
/* That of a divergence; without a teacher it is 1. */
float tsri_opencl_loss_temperature(const tsr_op *op);

#endif
