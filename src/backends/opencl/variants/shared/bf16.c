/* backends/opencl/variants/shared/bf16.c - linear and glu_linear by products of bf16, on CPUs with
 * AVX512-BF16 or AMX. */
#include "backends/opencl/variants/shared/bf16.h"

#include <string.h>

TSRI_OPERANDS(linear); /* glu_linear has the same, but for the residual */

enum {
    PANEL = 64,
    FEW = 9,
    STAGE_ROWS = 4,
    ONE_DEPTH = 16384, /* DEPTH of amx_one.cl */
};

/* The bytes of all rows of x as bf16. */
static tsr_dim rounded_bytes(const tsr_op *op) {
    tsr_dim bytes = tsri_tensor_rows(op->in[X]);
    bytes.factor *= (tsri_opencl_weight_depth(op) + 31) / 32 * 64;
    return bytes;
}

bool tsri_opencl_fits_bf16(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why) {
    (void)variant;
    if (tsri_opencl_weighted_attrs(op)->compute != TSR_COMPUTE_BF16)
        return tsri_opencl_refuse(why, "its products are of bf16; this op asks for others");
    return tsri_opencl_fits_packed(variant, facts, op, why);
}

bool tsri_opencl_fits_bf16_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why) {
    if (tsri_opencl_highest(op, tsri_tensor_rows(op->in[X])) > FEW)
        return tsri_opencl_refuse(why, "made for up to 9 rows of x; this plan has more");
    return tsri_opencl_fits_bf16(variant, facts, op, why);
}

bool tsri_opencl_fits_bf16_one(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why) {
    return tsri_opencl_fits_few_rows(op, 1, why) && tsri_opencl_fits_bf16(variant, facts, op, why);
}

bool tsri_opencl_fits_amx_one(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                              const tsr_op *op, const char **why) {
    if (tsri_opencl_weight_depth(op) > ONE_DEPTH)
        return tsri_opencl_refuse(why, "made for up to 16384 inputs");
    return tsri_opencl_fits_bf16_one(variant, facts, op, why);
}

void tsri_opencl_define_bf16(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_epilogue(op, defines);
}

void tsri_opencl_define_bf16_tile(const tsri_opencl_variant *variant, const tsr_op *op,
                                  tsri_opencl_defines *defines) {
    tsri_opencl_define_epilogue(op, defines);
    tsri_opencl_define_int(defines, "FEW", !strcmp(variant->name, "bf16_few"));
}

void tsri_opencl_bind_bf16(const tsri_opencl_variant *variant, const tsr_op *op,
                           tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_panels(op, launch, tsri_opencl_tuned(launch, "MR"), PANEL);
    tsri_opencl_arg_scratch(launch, "scratch", rounded_bytes(op));
}

void tsri_opencl_bind_bf16_one(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_panels_shared(op, launch);
}

static void bind_rows(const tsri_opencl_variant *variant, const tsr_op *op,
                      tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_stage_rows(op, launch, rounded_bytes(op), STAGE_ROWS);
}

const tsri_opencl_stage tsri_opencl_stage_bf16_rows = {
    .name = "bf16_rows", .file = "weighted/bf16_rows.cl", .bind = bind_rows};
