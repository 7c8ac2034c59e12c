/* backends/opencl/variants/shared/int8.c - linear and glu_linear with int8 products, for GPUs: tiles of
 * many rows of x, and a kernel for a few. */
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/normed.h"
#include "backends/opencl/variants/shared/weighted.h"
#include "tensor/quantize.h"

TSRI_OPERANDS(linear); /* glu_linear has the same, but for the residual */

enum { SKINNY = 8 }; /* rows of x for each work-group of a skinny variant: decode, small batches */

static bool fits_products(const tsr_op *op, const char **why) {
    if (tsri_opencl_weighted_attrs(op)->compute != TSR_COMPUTE_INT8)
        return tsri_opencl_refuse(why, "its products are of int8; this op asks for floats");
    if (!tsri_tensor_is_kept_blocks((tsr_dtype)op->in[W]->dtype))
        return tsri_opencl_refuse(why, "reads weights of blocks");
    return true;
}

/* The scales of 32 inputs of an output, and the minima (BLOCK_PART and BLOCK_MINIMA of cl/). */
static int sums_of(const tsr_op *op) {
    return op->in[W]->dtype == TSR_GGML_Q6_K ? 2 : 1;
}

static int minima_of(const tsr_op *op) {
    return op->in[W]->dtype == TSR_GGML_Q4_K || op->in[W]->dtype == TSR_GGML_Q5_K;
}

/* Whether the weight can lie as panels32_blocks. */
static bool fits_panels(const tsr_op *op, const char **why) {
    if (!tsri_opencl_weighted_attrs(op)->trans_w)
        return tsri_opencl_refuse(
            why, "reads weights of [outputs, inputs]; this one is [inputs, outputs]");
    return op->in[W]->offset == 0 || tsri_opencl_refuse(why, "the weight is part of another one");
}

/* --- tiles --- */

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
    const int64_t m = gm * int8_rows(op), n = gn * int8_columns(op), minima = minima_of(op),
                  bytes = 8 * ((9 + minima) * m + (8 + sums_of(op) + minima) * n + 64);
    if (!variant->layout && !tsri_tensor_is_written_blocks((tsr_dtype)op->in[W]->dtype))
        return tsri_opencl_refuse(why, "reads weights of q8_0 or q4_0 blocks");
    return fits_products(op, why) && (!variant->layout || fits_panels(op, why)) &&
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

/* The bytes that quantise_rows.cl writes: a row's numbers, four to a word, and the factors of its blocks
 * of 32, in whole groups of four words; where the weight has minima, what they are multiplied by. */
static tsr_dim packed_bytes(const tsr_op *op) {
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
        tsri_opencl_arg_scratch(launch, "x", packed_bytes(op));
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
    return fits_products(op, why) && fits_panels(op, why) &&
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
    FEW_LOCAL = 16 << 10, /* bytes of local memory that several blocks of q8_0 or q4_0 may have */
    X_LOCAL = 16 << 10,   /* and the rows of x that the kernel quantises itself, */
    DIRECT_ROWS = 2       /* so many at most */
};

/* Whether the kernel quantises x itself. */
static bool is_direct(const tsri_opencl_variant *variant) {
    return !variant->before;
}

/* The blocks that each part has in a step, and the bytes of local memory that they need: the same blocks
 * for all types, so that as many are on their way. */
static int few_steps(const tsr_op *op, int split, int depth, int64_t *bytes) {
    const int rows = tsri_opencl_built_rows(op),
              each = 256 * split * (tsri_opencl_is_gated(op) ? 2 : 1),
              most = FEW_LOCAL / (each * (rows + 1)),
              steps = most < 1       ? 1
                      : most < depth ? most
                                     : depth;
    *bytes = (int64_t)steps * each * (sums_of(op) * (rows + 1) + minima_of(op));
    return steps;
}

/* Bytes of local memory for a quantised row of x. Few sizes, so that few kernels are built. */
static int64_t row_bytes(const tsr_op *op) {
    int64_t bytes = 1024;
    while (bytes < tsri_opencl_weight_depth(op))
        bytes *= 2;
    return bytes;
}

bool tsri_opencl_fits_int8_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why) {
    const int split = tsri_opencl_variant_tunable(variant, "SPLIT"),
              row = tsri_opencl_variant_tunable(variant, "ROW_GROUP"); /* of the stage */
    const int direct = is_direct(variant);
    const tsr_tensor *x = op->in[X];
    int64_t bytes;
    few_steps(op, split, tsri_opencl_variant_tunable(variant, "DEPTH"), &bytes);
    if (direct)
        bytes += row_bytes(op) / 8 * (9 + minima_of(op)) * tsri_opencl_built_rows(op);
    if (direct && row_bytes(op) * tsri_opencl_built_rows(op) > X_LOCAL)
        return tsri_opencl_refuse(why, "keeps 16 KiB of quantised x; this op has more");
    if (direct && !tsri_opencl_by_fours(x, tsri_opencl_weight_depth(op), tsri_opencl_row_stride(x)))
        return tsri_opencl_refuse(why, "reads x by fours; its rows begin elsewhere");
    return fits_products(op, why) &&
           (!direct || tsri_opencl_fits_norm_group(op, 32 * split, why)) &&
           tsri_opencl_fits_few_rows(op, direct ? DIRECT_ROWS : SKINNY, why) &&
           fits_panels(op, why) && tsri_opencl_fits_normed(facts, op, why) &&
           tsri_opencl_fits_group(facts, 32 * split < row ? row : 32 * split, bytes, why);
}

void tsri_opencl_define_int8_few(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_defines *defines) {
    int64_t bytes;
    const int steps = few_steps(op, tsri_opencl_define_value(defines, "SPLIT"),
                                tsri_opencl_define_value(defines, "DEPTH"), &bytes);
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_normed(op, defines);
    tsri_opencl_define_int(defines, "DOT", variant->probe == TSRI_OPENCL_PROBE_DOT);
    tsri_opencl_define_int(defines, "ROWS", tsri_opencl_built_rows(op));
    tsri_opencl_define_int(defines, "STEPS", steps);
    tsri_opencl_define_int(defines, "DIRECT", is_direct(variant));
    if (is_direct(variant))
        tsri_opencl_define_int(defines, "X_WORDS", row_bytes(op) / 4);
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
    tsri_opencl_arg_scratch(launch, "packed", packed_bytes(op));
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
