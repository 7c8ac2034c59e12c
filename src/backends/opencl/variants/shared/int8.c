/* backends/opencl/variants/shared/int8.c - linear and glu_linear with int8 products, for GPUs: tiles of
 * many rows of x, and a kernel for a few. */
#include "backends/opencl/variants/shared/int8.h"
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/normed.h"
#include "backends/opencl/variants/shared/weighted.h"
#include "tensor/dtype.h"
#include "tensor/quantize.h"

TSRI_OPERANDS(linear); /* glu_linear has the same, but for the residual */

enum { SKINNY = 8 }; /* rows of x for each work-group of a skinny variant: decode, small batches */

bool tsri_opencl_fits_int8_products(const tsr_op *op, const char **why) {
    if (tsri_opencl_weighted_attrs(op)->compute != TSR_COMPUTE_INT8)
        return tsri_opencl_refuse(why, "its products are of int8; this op asks for floats");
    if (!tsri_tensor_is_kept_blocks((tsr_dtype)op->in[W]->dtype))
        return tsri_opencl_refuse(why, "reads weights of blocks");
    return true;
}

/* The scales of 32 inputs of an output, and the minima (SUMS and MINIMA of weighted/panels32.clh). A weight that
 * is not of blocks counts as one that has a scale. */
static int sums_of(const tsr_op *op) {
    const int part = tsri_tensor_dtype_info((tsr_dtype)op->in[W]->dtype)->part;
    return part ? 32 / part : 1;
}

static int minima_of(const tsr_op *op) {
    return tsri_tensor_dtype_info((tsr_dtype)op->in[W]->dtype)->minimum ? sums_of(op) : 0;
}

bool tsri_opencl_fits_panels32(const tsr_op *op, const char **why) {
    if (!tsri_opencl_weighted_attrs(op)->trans_w)
        return tsri_opencl_refuse(
            why, "reads weights of [outputs, inputs]; this one is [inputs, outputs]");
    return op->in[W]->offset == 0 || tsri_opencl_refuse(why, "the weight is part of another one");
}

/* --- tiles --- */

int64_t tsri_opencl_int8_tile_bytes(const tsr_op *op, int64_t rows, int64_t columns) {
    const int64_t minima = minima_of(op);
    return 8 * ((9 + minima) * rows + (8 + sums_of(op) + minima) * columns + 64);
}

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
    const int64_t bytes =
        tsri_opencl_int8_tile_bytes(op, gm * int8_rows(op), gn * int8_columns(op));
    if (!variant->layout && !tsri_tensor_is_small_blocks((tsr_dtype)op->in[W]->dtype))
        return tsri_opencl_refuse(why, "reads weights of q8_0, q4_0 or mxfp4 blocks");
    return tsri_opencl_fits_int8_products(op, why) &&
           (!variant->layout || tsri_opencl_fits_panels32(op, why)) &&
           tsri_opencl_fits_normed(facts, op, why) &&
           tsri_opencl_fits_group(facts, gn * gm < row ? row : gn * gm, bytes, why);
}

void tsri_opencl_define_int8(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_defines *defines) {
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_normed(op, defines);
    tsri_opencl_define_int(defines, "DOT", variant->probe == TSRI_OPENCL_PROBE_DOT);
    tsri_opencl_define_int(defines, "TM", int8_rows(op));
    tsri_opencl_define_int(defines, "TN", int8_columns(op));
    tsri_opencl_define_int(defines, "PANELS", variant->layout != NULL);
}

tsr_dim tsri_opencl_quantised_bytes(const tsr_op *op) {
    const int64_t depth = tsri_opencl_weight_depth(op), factors = (depth / 32 + 3) / 4 * 16;
    return tsri_tensor_times(tsri_tensor_rows(op->in[X]),
                             tsri_tensor_const(depth + factors * (1 + minima_of(op))));
}

/* The arguments of both kernels; `direct`: x itself, not what the stage made of it. */
static void arg_int8(tsri_opencl_launch *launch, const tsr_op *op, bool direct) {
    const bool gated = tsri_opencl_is_gated(op);
    const tsr_tensor *y = op->out[Y];
    if (direct)
        tsri_opencl_arg_tensor(launch, "x", op->in[X]);
    else
        tsri_opencl_arg_scratch(launch, "x", tsri_opencl_quantised_bytes(op));
    tsri_opencl_arg_from_weight(op, launch);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(op->in[X]));
    tsri_opencl_arg_int(launch, gated ? "F" : "N", tsri_tensor_columns(y).factor);
    tsri_opencl_arg_int(launch, "depth", tsri_opencl_weight_depth(op));
    if (direct)
        tsri_opencl_arg_row(launch, "x", op->in[X]);
    if (!gated)
        tsri_opencl_arg_row(launch, "residual", tsri_opencl_in(op, RESIDUAL));
    tsri_opencl_arg_row(launch, "y", y);
    if (direct)
        tsri_opencl_arg_norm(op, launch);
}

void tsri_opencl_bind_int8(const tsri_opencl_variant *variant, const tsr_op *op,
                           tsri_opencl_launch *launch) {
    (void)variant;
    const int tm = int8_rows(op), tn = int8_columns(op);
    arg_int8(launch, op, false);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(tsri_opencl_weight_outputs(op)), tn);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(op->in[X]), tm);
    tsri_opencl_group(launch, tsri_opencl_tuned(launch, "GN"), tsri_opencl_tuned(launch, "GM"), 1);
    tsri_opencl_work(launch, tsri_tensor_const(tsri_opencl_weight_depth(op) * tm * tn));
}

/* --- tiles by matrix units --- */

bool tsri_opencl_fits_units_int8(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    const tsri_opencl_unit_tile tile = tsri_opencl_tile_of_units(variant);
    const int64_t blocks = tsri_opencl_variant_tunable(variant, "BLOCKS"),
                  row = tsri_opencl_variant_tunable(variant, "ROW_GROUP"), /* of the stage */
        factors = sums_of(op) + minima_of(op);
    return tsri_opencl_fits_int8_products(op, why) && tsri_opencl_fits_panels32(op, why) &&
           tsri_opencl_fits_normed(facts, op, why) &&
           tsri_opencl_fits_group(facts, tile.items < row ? row : tile.items,
                                  8 * (tile.rows + tile.columns) * ((8 + factors) * blocks + 4),
                                  why);
}

bool tsri_opencl_fits_units_int8_few(const tsri_opencl_variant *variant,
                                     const tsri_opencl_facts *facts, const tsr_op *op,
                                     const char **why) {
    return tsri_opencl_fits_unit_rows(op, why) &&
           tsri_opencl_fits_units_int8(variant, facts, op, why);
}

void tsri_opencl_define_units_int8(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines) {
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_normed(op, defines);
    tsri_opencl_define_int(defines, tsri_opencl_unit_of(variant->probe).constant, 1);
}

void tsri_opencl_bind_units_int8(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch) {
    arg_int8(launch, op, false);
    tsri_opencl_group_units(variant, op, launch);
}

/* --- few rows --- */

enum {
    FEW_LOCAL = 16 << 10, /* bytes of local memory that several blocks of 32 inputs may have */
    X_LOCAL = 16 << 10    /* and the rows of x that the kernel quantises itself */
};

/* Whether the kernel quantises x itself. */
static bool is_direct(const tsri_opencl_variant *variant) {
    return !variant->before;
}

int64_t tsri_opencl_few_step_bytes(const tsr_op *op, int rows, int split) {
    return (tsri_opencl_is_gated(op) ? 512 : 256) * split *
           (int64_t)(sums_of(op) * (rows + 1) + minima_of(op));
}

/* The blocks that each part has in a step: as many for all types, so that as many are on their way. */
static int few_steps(const tsr_op *op, int split, int depth) {
    const int most = FEW_LOCAL / ((tsri_opencl_is_gated(op) ? 512 : 256) * split *
                                  (tsri_opencl_built_rows(op) + 1));
    return most < 1 ? 1 : most < depth ? most : depth;
}

/* Bytes of local memory for a quantised row of x. Few sizes, so that few kernels are built. */
static int64_t row_bytes(const tsr_op *op) {
    int64_t bytes = 1024;
    while (bytes < tsri_opencl_weight_depth(op))
        bytes *= 2;
    return bytes;
}

int64_t tsri_opencl_direct_bytes(const tsr_op *op, int rows) {
    return row_bytes(op) / 8 * (9 + minima_of(op)) * rows;
}

bool tsri_opencl_fits_direct(const tsr_op *op, int rows, const char **why) {
    const tsr_tensor *x = op->in[X];
    if (row_bytes(op) * rows > X_LOCAL)
        return tsri_opencl_refuse(why, "keeps 16 KiB of quantised x; this op has more");
    return tsri_opencl_by_fours(x, tsri_opencl_weight_depth(op), tsri_opencl_row_stride(x)) ||
           tsri_opencl_refuse(why, "reads x by fours; its rows begin elsewhere");
}

bool tsri_opencl_fits_int8_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why) {
    const int split = tsri_opencl_variant_tunable(variant, "SPLIT"),
              row = tsri_opencl_variant_tunable(variant, "ROW_GROUP"), /* of the stage */
        rows = tsri_opencl_built_rows(op);
    const bool direct = is_direct(variant);
    const int64_t bytes = few_steps(op, split, tsri_opencl_variant_tunable(variant, "DEPTH")) *
                              tsri_opencl_few_step_bytes(op, rows, split) +
                          (direct ? tsri_opencl_direct_bytes(op, rows) : 0);
    if (direct && !tsri_opencl_fits_direct(op, rows, why))
        return false;
    return tsri_opencl_fits_int8_products(op, why) &&
           (!direct || tsri_opencl_fits_norm_group(op, 32 * split, why)) &&
           tsri_opencl_fits_few_rows(op, direct ? TSRI_OPENCL_DIRECT_ROWS : SKINNY, why) &&
           tsri_opencl_fits_panels32(op, why) && tsri_opencl_fits_normed(facts, op, why) &&
           tsri_opencl_fits_group(facts, 32 * split < row ? row : 32 * split, bytes, why);
}

void tsri_opencl_define_few_blocks(const tsri_opencl_variant *variant, const tsr_op *op, int rows,
                                   int steps, tsri_opencl_defines *defines) {
    tsri_opencl_define_normed(op, defines);
    tsri_opencl_define_int(defines, "DOT", variant->probe == TSRI_OPENCL_PROBE_DOT);
    tsri_opencl_define_int(defines, "ROWS", rows);
    tsri_opencl_define_int(defines, "STEPS", steps);
    tsri_opencl_define_int(defines, "DIRECT", is_direct(variant));
    if (is_direct(variant))
        tsri_opencl_define_int(defines, "X_WORDS", row_bytes(op) / 4);
}

void tsri_opencl_define_int8_few(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_defines *defines) {
    const int steps = few_steps(op, tsri_opencl_define_value(defines, "SPLIT"),
                                tsri_opencl_define_value(defines, "DEPTH"));
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_few_blocks(variant, op, tsri_opencl_built_rows(op), steps, defines);
}

void tsri_opencl_bind_int8_few(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_launch *launch) {
    const int split = tsri_opencl_tuned(launch, "SPLIT"), items = 32 * split;
    const int64_t outputs = tsri_tensor_columns(op->out[Y]).factor;
    arg_int8(launch, op, is_direct(variant));
    tsri_opencl_grid(launch, 0, tsri_tensor_const((outputs + 31) / 32 * items), 1);
    tsri_opencl_group(launch, items, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(tsri_opencl_weight_depth(op) / split *
                                               tsri_opencl_built_rows(op) *
                                               (tsri_opencl_is_gated(op) ? 2 : 1)));
}

/* --- the stage --- */

static void define_quantise(const tsri_opencl_variant *variant, const tsr_op *op,
                            tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_tunable(defines, "ROW_GROUP");
    tsri_opencl_define_int(defines, "MINIMA", minima_of(op));
    tsri_opencl_define_normed(op, defines);
}

static void bind_quantise(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *x = op->in[X];
    const int group = tsri_opencl_tuned(launch, "ROW_GROUP");
    tsri_opencl_arg_tensor(launch, "x", x);
    tsri_opencl_arg_scratch(launch, "packed", tsri_opencl_quantised_bytes(op));
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_int(launch, "K", tsri_opencl_weight_depth(op));
    tsri_opencl_arg_row(launch, "x", x);
    tsri_opencl_arg_norm(op, launch);
    tsri_opencl_group_rows(launch, tsri_tensor_rows(x), group, 2 * tsri_opencl_weight_depth(op));
}

const tsri_opencl_stage tsri_opencl_stage_quantise_rows = {.name = "quantise_rows",
                                                           .file = "weighted/quantise_rows.cl",
                                                           .define = define_quantise,
                                                           .bind = bind_quantise};
