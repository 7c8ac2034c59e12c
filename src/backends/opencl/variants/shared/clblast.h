/* backends/opencl/variants/shared/clblast.h - CLBlast as a provider of matrix products: variants that
 * run only when forced. */
#ifndef TSRI_OPENCL_VARIANTS_SHARED_CLBLAST_H
#define TSRI_OPENCL_VARIANTS_SHARED_CLBLAST_H

#include "backends/opencl/bind/variant.h"

bool tsri_opencl_clblast_fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                              const tsr_op *op, const char **why);
void tsri_opencl_clblast_define(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_defines *defines);
void tsri_opencl_clblast_bind(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_launch *launch);
tsr_status tsri_opencl_clblast_enqueue(const tsri_opencl_variant *variant, const tsr_op *op,
                                       cl_command_queue queue, const int64_t sizes[TSR_SYMBOLS],
                                       cl_event *event);

/* CLBlast's variants, for variants/<kind>/<op>.c: for linear and glu_linear the product goes to scratch
 * and a small kernel completes it; matmul needs none. */
#define TSRI_OPENCL_CLBLAST_VARIANT(op_, file_)                                            \
    {                                                                                      \
        .name = "clblast", .op = op_, .file = file_, .batch_variant = true, .score = 1,    \
        .weight_operand = op_ == TSR_OP_MATMUL ? -1 : 1, .fits = tsri_opencl_clblast_fits, \
        .define = tsri_opencl_clblast_define, .bind = tsri_opencl_clblast_bind,            \
        .enqueue = tsri_opencl_clblast_enqueue                                             \
    }
#define TSRI_OPENCL_CLBLAST_MATMUL TSRI_OPENCL_CLBLAST_VARIANT(TSR_OP_MATMUL, NULL)
#define TSRI_OPENCL_CLBLAST_LINEAR TSRI_OPENCL_CLBLAST_VARIANT(TSR_OP_LINEAR, "linear/finish.cl")
#define TSRI_OPENCL_CLBLAST_GLU_LINEAR \
    TSRI_OPENCL_CLBLAST_VARIANT(TSR_OP_GLU_LINEAR, "glu_linear/finish.cl")

/* Frees what CLBlast keeps for all devices, when the device on which it was last used closes. */
void tsri_opencl_clblast_forget(tsr_dev *dev);

#endif
