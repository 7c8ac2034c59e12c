/* backends/opencl/variants/shared/tiled.c - linear and glu_linear with work-groups that share local
 * memory: variants made for GPUs. */
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/weighted.h"
#include "tensor/quantize.h"

TSRI_OPERANDS(linear); /* glu_linear has the same, but for the residual */

enum { SKINNY = 8 }; /* rows of x for each work-group of a skinny variant: decode, small batches */

bool tsri_opencl_fits_tiled(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                            const tsr_op *op, const char **why) {
    if (tsri_opencl_weighted_attrs(op)->compute == TSR_COMPUTE_INT8)
        return tsri_opencl_refuse(why, "its products are of floats; this op asks for int8");
    return tsri_opencl_fits_weighted(op, why) && tsri_opencl_fits_tile(variant, facts, why);
}

bool tsri_opencl_fits_tiled_64(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why) {
    return tsri_opencl_fits_small_tile(facts, tsri_opencl_highest(op, tsri_tensor_rows(op->in[X])),
                                       tsri_opencl_weight_outputs(op), 1, why) &&
           tsri_opencl_fits_tiled(variant, facts, op, why);
}

bool tsri_opencl_fits_skinny(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why) {
    if (tsri_opencl_highest(op, tsri_tensor_rows(op->in[X])) > SKINNY)
        return tsri_opencl_refuse(why, "made for up to 8 rows of x; this plan has more");
    return tsri_opencl_fits_tiled(variant, facts, op, why);
}

/* Whether every row of `columns` elements begins at a multiple of four, so that four are read at a
 * time. */
static bool by_fours(const tsr_tensor *tensor, int64_t columns, int64_t pitch) {
    return columns % 4 == 0 && pitch % 4 == 0 && tensor->offset % 4 == 0;
}

void tsri_opencl_define_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_defines *defines) {
    const bool transposed = tsri_opencl_weighted_attrs(op)->trans_w != 0;
    const tsr_tensor *x = op->in[X], *w = op->in[W];
    /* The outputs of glu_linear are read in two halves. */
    const int64_t along =
        transposed ? tsri_opencl_weight_depth(op) : tsri_tensor_columns(op->out[Y]).factor;
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_int(defines, "TRANS_W", transposed);
    tsri_opencl_define_int(defines, "FOUR_X",
                           by_fours(x, tsri_opencl_weight_depth(op), tsri_opencl_row_stride(x)));
    tsri_opencl_define_int(defines, "FOUR_W", by_fours(w, along, along));
}

void tsri_opencl_arg_tiled(tsri_opencl_launch *launch, const tsr_op *op) {
    const bool gated = tsri_opencl_is_gated(op);
    const tsr_tensor *x = op->in[X], *residual = tsri_opencl_in(op, RESIDUAL), *y = op->out[Y];
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(x));
    tsri_opencl_arg_int(launch, gated ? "F" : "N", tsri_tensor_columns(y).factor);
    tsri_opencl_arg_int(launch, "depth", tsri_opencl_weight_depth(op));
    tsri_opencl_arg_row(launch, "x", x);
    if (!gated)
        tsri_opencl_arg_row(launch, "residual", residual);
    tsri_opencl_arg_row(launch, "y", y);
}

void tsri_opencl_bind_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                            tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_arg_tiled(launch, op);
    tsri_opencl_group_tile(launch, tsri_tensor_rows(op->in[X]),
                           tsri_tensor_const(tsri_opencl_weight_outputs(op)),
                           tsri_tensor_const(tsri_opencl_weight_depth(op)));
}

/* --- products in half precision --- */

bool tsri_opencl_fits_tiled_half(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    if (tsri_opencl_weighted_attrs(op)->compute != TSR_COMPUTE_F16)
        return tsri_opencl_refuse(why, "its products are of halves; this op asks for others");
    if (!facts->extension_fp16)
        return tsri_opencl_refuse(
            why, "needs cl_khr_fp16, which the device does not have; it computes in f32");
    return tsri_opencl_fits_tiled(variant, facts, op, why);
}

bool tsri_opencl_fits_skinny_half(const tsri_opencl_variant *variant,
                                  const tsri_opencl_facts *facts, const tsr_op *op,
                                  const char **why) {
    return tsri_opencl_fits_tiled_half(variant, facts, op, why) &&
           tsri_opencl_fits_skinny(variant, facts, op, why);
}

void tsri_opencl_define_tiled_half(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines) {
    tsri_opencl_define_tiled(variant, op, defines);
    tsri_opencl_define_int(defines, "HALF", 8);
}

/* --- int8 products --- */

/* The rows of a work-group's tile. */
static int int8_rows(const tsr_op *op) {
    return tsri_opencl_highest(op, tsri_tensor_rows(op->in[X])) <= SKINNY ? 2 : 8;
}

static int int8_columns(const tsr_op *op) {
    return int8_rows(op) == 2 ? 2 : 4;
}

bool tsri_opencl_fits_int8(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why) {
    const int64_t gn = tsri_opencl_variant_tunable(variant, "GN"),
                  gm = tsri_opencl_variant_tunable(variant, "GM"),
                  row = tsri_opencl_variant_tunable(variant, "ROW_GROUP"); /* of the stage */
    const int64_t m = gm * int8_rows(op), n = gn * int8_columns(op);
    if (tsri_opencl_weighted_attrs(op)->compute != TSR_COMPUTE_INT8)
        return tsri_opencl_refuse(why, "its products are of int8; this op asks for floats");
    if (!tsri_tensor_is_kept_blocks((tsr_dtype)op->in[W]->dtype))
        return tsri_opencl_refuse(why, "reads weights of q8_0 or q4_0 blocks");
    return tsri_opencl_fits_weighted(op, why) &&
           tsri_opencl_fits_group(facts, gn * gm < row ? row : gn * gm, 8 * (8 * (m + n + 8) + n),
                                  why);
}

void tsri_opencl_define_int8(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_defines *defines) {
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_int(defines, "DOT", variant->probe == TSRI_OPENCL_PROBE_DOT);
    tsri_opencl_define_int(defines, "TM", int8_rows(op));
    tsri_opencl_define_int(defines, "TN", int8_columns(op));
}

/* The bytes that quantise_rows.cl writes: a row's numbers, four to a word, and a word with the
 * row's scale. */
static tsr_dim packed_bytes(const tsr_op *op) {
    return tsri_tensor_times(tsri_tensor_rows(op->in[X]),
                             tsri_tensor_const(tsri_opencl_weight_depth(op) + 4));
}

void tsri_opencl_bind_int8(const tsri_opencl_variant *variant, const tsr_op *op,
                           tsri_opencl_launch *launch) {
    (void)variant;
    const bool gated = tsri_opencl_is_gated(op);
    const tsr_tensor *residual = tsri_opencl_in(op, RESIDUAL), *y = op->out[Y];
    const int tm = int8_rows(op), tn = int8_columns(op);
    tsri_opencl_arg_scratch(launch, "x", packed_bytes(op));
    tsri_opencl_arg_tensor(launch, "w", op->in[W]);
    tsri_opencl_arg_tensor(launch, "bias", tsri_opencl_in(op, BIAS));
    if (!gated)
        tsri_opencl_arg_tensor(launch, "residual", residual);
    tsri_opencl_arg_tensor(launch, "y", y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(op->in[X]));
    tsri_opencl_arg_int(launch, gated ? "F" : "N", tsri_tensor_columns(y).factor);
    tsri_opencl_arg_int(launch, "depth", tsri_opencl_weight_depth(op));
    if (!gated)
        tsri_opencl_arg_row(launch, "residual", residual);
    tsri_opencl_arg_row(launch, "y", y);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(tsri_opencl_weight_outputs(op)), tn);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(op->in[X]), tm);
    tsri_opencl_group(launch, tsri_opencl_tuned(launch, "GN"), tsri_opencl_tuned(launch, "GM"), 1);
    tsri_opencl_work(launch, tsri_tensor_const(tsri_opencl_weight_depth(op) * tm * tn));
}

static void define_quantise(const tsri_opencl_variant *variant, const tsr_op *op,
                            tsri_opencl_defines *defines) {
    (void)variant, (void)op;
    tsri_opencl_define_tunable(defines, "ROW_GROUP");
}

static void bind_quantise(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *x = op->in[X];
    const int group = tsri_opencl_tuned(launch, "ROW_GROUP");
    tsri_opencl_arg_tensor(launch, "x", x);
    tsri_opencl_arg_scratch(launch, "packed", packed_bytes(op));
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_int(launch, "K", tsri_opencl_weight_depth(op));
    tsri_opencl_arg_row(launch, "x", x);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(group), 1);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(x), 1);
    tsri_opencl_group(launch, group, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(1 + tsri_opencl_weight_depth(op) * 2 / group));
}

const tsri_opencl_stage tsri_opencl_stage_quantise_rows = {.name = "quantise_rows",
                                                           .file = "linear/quantise_rows.cl",
                                                           .define = define_quantise,
                                                           .bind = bind_quantise};
