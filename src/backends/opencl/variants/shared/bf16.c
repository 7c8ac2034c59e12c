/* backends/opencl/variants/shared/bf16.c - linear, glu_linear, matmul and matmul_add by products of
 * bf16, on CPUs with AVX512-BF16 or AMX. */
#include "backends/opencl/variants/shared/bf16.h"
#include "backends/opencl/variants/shared/cached.h"

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

/* --- operands in plain rows --- */

enum { ROUNDED_ROWS = 32, SUM_ROWS = 6 };

tsri_opencl_left tsri_opencl_left_of(const tsr_op *op) {
    if (op->id == TSR_OP_LINEAR)
        return (tsri_opencl_left){.a = op->in[X],
                                  .M = tsri_tensor_rows(op->in[X]),
                                  .K = tsri_tensor_columns(op->in[X]),
                                  .down = tsri_tensor_const(tsri_opencl_row_stride(op->in[X])),
                                  .right = tsri_tensor_const(1)};
    const tsr_matmul_attrs *attrs = op->attrs;
    const tsr_tensor *a = op->in[op->id == TSR_OP_MATMUL ? 0 : 1];
    const uint32_t m = a->rank - (attrs->trans_a ? 1 : 2), k = a->rank - (attrs->trans_a ? 2 : 1);
    return (tsri_opencl_left){
        .a = a, .M = a->dim[m], .K = a->dim[k], .down = a->stride[m], .right = a->stride[k]};
}

bool tsri_opencl_fits_cached_bf16(const tsri_opencl_facts *facts, const tsr_op *op,
                                  uint32_t compute, tsr_dim columns, const char **why) {
    if (compute != TSR_COMPUTE_BF16)
        return tsri_opencl_refuse(why, "its products are of bf16; this op asks for others");
    return tsri_opencl_fits_cached(facts, op, columns, why);
}

/* A row has whole pairs: (K + 1) / 2 of 4 bytes. Where K changes from run to run and may be odd, this is
 * an upper bound. */
void tsri_opencl_arg_rounded(tsri_opencl_launch *launch, const tsr_op *op) {
    const tsri_opencl_left left = tsri_opencl_left_of(op);
    tsr_dim row = left.K;
    row.factor = (row.factor + 1) / 2 * 4;
    tsri_opencl_arg_scratch(launch, "scratch", tsri_tensor_times(left.M, row));
}

int tsri_opencl_cached_bf16_rows(const tsri_opencl_launch *launch, const tsr_op *op,
                                 tsr_dim columns) {
    const tsri_opencl_left left = tsri_opencl_left_of(op);
    const bool whole = tsri_opencl_highest(op, left.K) <= 2 * tsri_opencl_tuned(launch, "PAIRS");
    return tsri_opencl_cached_rows(launch, op, left.M, columns, SUM_ROWS,
                                   whole ? INT32_MAX : TSRI_OPENCL_CACHED_ROWS);
}

static void bind_rounded(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_launch *launch) {
    (void)variant;
    const tsri_opencl_left left = tsri_opencl_left_of(op);
    tsri_opencl_arg_tensor(launch, "a", left.a);
    tsri_opencl_arg_rounded(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "M", left.M);
    tsri_opencl_arg_dim(launch, "K", left.K);
    tsri_opencl_arg_dim(launch, "am", left.down);
    tsri_opencl_arg_dim(launch, "ak", left.right);
    tsri_opencl_grid(launch, 0, left.M, ROUNDED_ROWS);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_times(left.K, tsri_tensor_const(ROUNDED_ROWS)));
}

const tsri_opencl_stage tsri_opencl_stage_cached_bf16 = {
    .name = "round_rows", .file = "cached_bf16/rows.cl", .bind = bind_rounded};
