/* backends/opencl/variants/shared/blocks.c - linear and glu_linear on CPUs, for weights that are panels
 * of blocks. */
#include "backends/opencl/variants/shared/blocks.h"
#include "backends/opencl/variants/shared/weighted.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"

#include <string.h>

TSRI_OPERANDS(linear); /* glu_linear has the same, but for the residual */

enum { PANEL = 64, STAGE_ROWS = 4 };

static bool is_int8(const tsr_op *op) {
    return tsri_opencl_weighted_attrs(op)->compute == TSR_COMPUTE_INT8;
}

/* The bytes of all rows of x in the form of weighted/vnni.clh. */
static tsr_dim quantised_bytes(const tsr_op *op) {
    tsr_dim bytes = tsri_tensor_rows(op->in[X]);
    bytes.factor *= tsri_opencl_weight_depth(op) / 32 * 44;
    return bytes;
}

/* A weight of blocks that can lie in panels; their size is checked with the op. */
static bool fits_panels(const tsri_opencl_facts *facts, const tsr_op *op, const char **why) {
    if (!tsri_opencl_fits_tiles(facts, op, why) || !tsri_opencl_fits_weighted(op, why))
        return false;
    if (tsri_opencl_weight_depth(op) < 32)
        return tsri_opencl_refuse(why, "needs at least one block of inputs");
    return tsri_opencl_fits_halves(op, why);
}

bool tsri_opencl_fits_blocks(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why) {
    (void)variant;
    if (!tsri_tensor_is_small_blocks((tsr_dtype)op->in[W]->dtype))
        return tsri_opencl_refuse(why, "made for weights of q8_0, q4_0 or mxfp4 blocks");
    return fits_panels(facts, op, why);
}

bool tsri_opencl_fits_blocks_one(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    return tsri_opencl_fits_few_rows(op, 1, why) &&
           tsri_opencl_fits_blocks(variant, facts, op, why);
}

bool tsri_opencl_fits_vnni(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why) {
    if (!tsri_opencl_fits_blocks(variant, facts, op, why))
        return false;
    return is_int8(op) ||
           tsri_opencl_refuse(why, "made for int8 products; this op computes in f32");
}

bool tsri_opencl_fits_vnni_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why) {
    if (tsri_opencl_highest(op, tsri_tensor_rows(op->in[X])) > TSRI_OPENCL_FEW)
        return tsri_opencl_refuse(why, "made for up to 9 rows of x; this plan has more");
    return tsri_opencl_fits_vnni(variant, facts, op, why);
}

bool tsri_opencl_fits_vnni_one(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why) {
    return tsri_opencl_fits_few_rows(op, 1, why) && tsri_opencl_fits_vnni(variant, facts, op, why);
}

void tsri_opencl_define_vnni(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_defines *defines) {
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_int(defines, "FEW", !strcmp(variant->name, "vnni_few"));
}

void tsri_opencl_define_blocks(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_defines *defines) {
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_int(defines, "INT8", is_int8(op));
}

void tsri_opencl_bind_blocks(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_panels(op, launch, tsri_opencl_tuned(launch, "MR"), PANEL);
}

void tsri_opencl_bind_vnni(const tsri_opencl_variant *variant, const tsr_op *op,
                           tsri_opencl_launch *launch) {
    tsri_opencl_bind_blocks(variant, op, launch);
    tsri_opencl_arg_scratch(launch, "scratch", quantised_bytes(op));
}

void tsri_opencl_bind_vnni_one(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_panels_shared(op, launch);
}

static void define_rows(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_operand(defines, "W", op->in[W]);
}

static void bind_rows(const tsri_opencl_variant *variant, const tsr_op *op,
                      tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_stage_rows(op, launch, quantised_bytes(op), STAGE_ROWS);
}

const tsri_opencl_stage tsri_opencl_stage_vnni_rows = {
    .name = "vnni_rows", .file = "weighted/vnni_rows.cl", .define = define_rows, .bind = bind_rows};

/* --- blocks that are made wide --- */

/* The bytes of all rows of x in the form of weighted/wide.clh. */
static tsr_dim wide_bytes(const tsr_op *op) {
    const int part = tsri_tensor_dtype_info((tsr_dtype)op->in[W]->dtype)->part;
    tsr_dim bytes = tsri_tensor_rows(op->in[X]);
    bytes.factor *= tsri_opencl_weight_depth(op) / part * (part + 16);
    return bytes;
}

bool tsri_opencl_fits_wide(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why) {
    (void)variant;
    if (!tsri_tensor_is_wide_blocks((tsr_dtype)op->in[W]->dtype))
        return tsri_opencl_refuse(
            why, "made for weights of blocks other than q8_0, q4_0 and mxfp4: q4_K, q5_1 ...");
    return fits_panels(facts, op, why);
}

bool tsri_opencl_fits_wide_one(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why) {
    return tsri_opencl_fits_few_rows(op, 1, why) && tsri_opencl_fits_wide(variant, facts, op, why);
}

bool tsri_opencl_fits_wide_vnni(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const tsr_op *op, const char **why) {
    if (!tsri_opencl_fits_wide(variant, facts, op, why))
        return false;
    return is_int8(op) ||
           tsri_opencl_refuse(why, "made for int8 products; this op computes in f32");
}

void tsri_opencl_define_wide(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_defines *defines) {
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_int(defines, "VNNI", variant->before != NULL);
    if (!variant->before)
        tsri_opencl_define_int(defines, "INT8", is_int8(op));
}

void tsri_opencl_bind_wide_vnni(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_launch *launch) {
    tsri_opencl_bind_blocks(variant, op, launch);
    tsri_opencl_arg_scratch(launch, "scratch", wide_bytes(op));
}

static void bind_wide_rows(const tsri_opencl_variant *variant, const tsr_op *op,
                           tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_stage_rows(op, launch, wide_bytes(op), 1);
}

const tsri_opencl_stage tsri_opencl_stage_wide_rows = {.name = "wide_rows",
                                                       .file = "weighted/wide_rows.cl",
                                                       .define = define_rows,
                                                       .bind = bind_wide_rows};
