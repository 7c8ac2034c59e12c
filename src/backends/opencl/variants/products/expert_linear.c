/* backends/opencl/variants/products/expert_linear.c - expert_linear and expert_glu_linear: products
 * with one of several weights for each row, grouped by weight. */
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/weighted.h"
#include "tensor/quantize.h"

TSRI_OPERANDS(
    expert_linear); /* expert_glu_linear has the same, and its attributes begin with the same fields */

enum { PANEL = 64 };

static tsr_dim pairs_of(const tsr_op *op) {
    return tsri_tensor_count(op->in[EXPERTS]);
}

/* --- fits --- */

static bool fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                 const tsr_op *op, const char **why) {
    const tsr_tensor *w = op->in[W];
    (void)variant, (void)facts;
    if (w->rank != 3 || !tsri_opencl_is_constant(w->dim[1]) || !tsri_opencl_is_constant(w->dim[2]))
        return tsri_opencl_refuse(why, "the weight has no constant size");
    if (!tsri_tensor_is_packed(op->in[EXPERTS]))
        return tsri_opencl_refuse(why, "the experts are not contiguous; copy them first");
    return tsri_opencl_fits_rows(op->in[X], why) && tsri_opencl_fits_weight(w, why) &&
           tsri_opencl_fits_vector(tsri_opencl_in(op, BIAS), why) &&
           tsri_opencl_fits_rows(op->out[Y], why) && tsri_opencl_fits_index(op, why);
}

static bool fits_panels(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    if (!facts->cpu)
        return tsri_opencl_refuse(
            why, "made for CPUs: a work-item holds a whole tile in vector registers");
    if (!facts->vector16)
        return tsri_opencl_refuse(why, "the device's compiler does not cope with tiles of float16");
    if (!tsri_opencl_weighted_attrs(op)->trans_w)
        return tsri_opencl_refuse(
            why, "reads weights of [outputs, inputs]; this one is [inputs, outputs]");
    if (op->in[W]->offset != 0)
        return tsri_opencl_refuse(why, "the weight is part of another one");
    if (tsri_tensor_columns(op->out[Y]).factor % PANEL)
        return tsri_opencl_refuse(why, "needs outputs of an expert that are a multiple of 64");
    return fits(variant, facts, op, why);
}

/* With no more pairs of rows and experts than experts, work-items are dealt by pairs. */
static bool by_pair(const tsr_op *op) {
    return tsri_opencl_highest(op, pairs_of(op)) <= op->in[W]->dim[0].factor;
}

static bool fits_packed(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    if (!tsri_opencl_is_float(op->in[W]))
        return tsri_opencl_refuse(why, "made for weights of f32, f16 or bf16");
    return fits_panels(variant, facts, op, why);
}

static bool is_wide(const tsr_op *op) {
    return tsri_tensor_is_wide_blocks((tsr_dtype)op->in[W]->dtype);
}

static bool fits_blocks(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    if (!tsri_tensor_is_kept_blocks((tsr_dtype)op->in[W]->dtype))
        return tsri_opencl_refuse(why, "made for weights of blocks");
    return fits_panels(variant, facts, op, why);
}

static bool fits_few(const tsr_op *op, const char **why) {
    return by_pair(op) ||
           tsri_opencl_refuse(why, "made for no more rows, times their experts, than experts");
}

static bool fits_blocks_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                            const tsr_op *op, const char **why) {
    return fits_few(op, why) && fits_blocks(variant, facts, op, why);
}

/* The words of local memory of cl/experts/pair_list.clh. */
static int64_t list_words(int64_t rows, int64_t items) {
    return rows + items + 2;
}

static bool fits_tiled(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    const int64_t items = (int64_t)tsri_opencl_variant_tunable(variant, "GN") *
                          tsri_opencl_variant_tunable(variant, "GM"),
                  rows = (int64_t)tsri_opencl_variant_tunable(variant, "GM") *
                         tsri_opencl_variant_tunable(variant, "TM"),
                  bytes = tsri_opencl_tile_bytes(variant) + 4 * (rows + list_words(rows, items));
    if (tsri_opencl_weighted_attrs(op)->compute == TSR_COMPUTE_INT8)
        return tsri_opencl_refuse(why, "its products are of floats; this op asks for int8");
    return tsri_opencl_fits_group(facts, items, bytes, why) && fits(variant, facts, op, why);
}

static bool fits_tiled_64(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                          const tsr_op *op, const char **why) {
    if (tsri_opencl_highest(op, pairs_of(op)) <= 32 * op->in[W]->dim[0].factor)
        return tsri_opencl_refuse(why, "made for more than 32 rows of an expert in the mean");
    return fits_tiled(variant, facts, op, why);
}

static bool fits_tiled_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why) {
    return fits_few(op, why) && fits_tiled(variant, facts, op, why);
}

/* --- int8 products for GPUs --- */

enum { MOST_FEW = 8, PROMPT = 64, FEW_LOCAL = 16 << 10 };

static int64_t highest_rows(const tsr_op *op) {
    return tsri_opencl_highest(op, op->in[EXPERTS]->dim[0]);
}

/* The pairs that a kernel for a few rows takes at a time. The experts of a row differ, so one expert seldom has
 * more than four of eight rows. */
static int few_pairs(const tsr_op *op) {
    const int64_t rows = highest_rows(op);
    return rows <= 1 ? 1 : rows <= 2 ? 2 : 4;
}

/* The local memory of a kernel for a few rows beside its blocks; without a stage it quantises x itself. */
static int64_t few_bytes(const tsri_opencl_variant *variant, const tsr_op *op, int split) {
    const int pairs = few_pairs(op);
    return 4 * (pairs + (pairs > 1 ? list_words(pairs, 32 * split) : 0)) +
           (variant->before ? 0 : tsri_opencl_direct_bytes(op, pairs));
}

/* The blocks that each of its parts has in a step: so many that all of it is at most FEW_LOCAL. There are more
 * work-groups than in linear, so fewer blocks in each of them keep as many on their way. */
static int few_steps(const tsri_opencl_variant *variant, const tsr_op *op, int split, int depth) {
    const int64_t most = (FEW_LOCAL - few_bytes(variant, op, split)) /
                         tsri_opencl_few_step_bytes(op, few_pairs(op), split);
    return most < 1 ? 1 : most < depth ? (int)most : depth;
}

static bool fits_int8(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                      const tsr_op *op, const char **why) {
    return tsri_opencl_fits_int8_products(op, why) && tsri_opencl_fits_panels32(op, why) &&
           fits(variant, facts, op, why);
}

static bool fits_int8_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                          const tsr_op *op, const char **why) {
    const int split = tsri_opencl_variant_tunable(variant, "SPLIT"),
              depth = tsri_opencl_variant_tunable(variant, "DEPTH"), items = 32 * split,
              row = tsri_opencl_variant_tunable(variant, "ROW_GROUP"), /* of the stage */
        pairs = few_pairs(op);
    const bool direct = !variant->before;
    if (!fits_int8(variant, facts, op, why))
        return false;
    if (highest_rows(op) > (direct ? TSRI_OPENCL_DIRECT_ROWS : MOST_FEW))
        return tsri_opencl_refuse(why, direct ? "made for one or two rows of x; this plan has more"
                                              : "made for 8 rows of x; this plan has more");
    return (!direct || tsri_opencl_fits_direct(op, pairs, why)) &&
           tsri_opencl_fits_group(facts, items < row ? row : items,
                                  few_bytes(variant, op, split) +
                                      few_steps(variant, op, split, depth) *
                                          tsri_opencl_few_step_bytes(op, pairs, split),
                                  why);
}

/* The tile of a work-item: rows and columns. */
static int tile_rows(const tsr_op *op) {
    return highest_rows(op) < PROMPT ? 2 : 8;
}

static int tile_columns(const tsr_op *op) {
    return tile_rows(op) == 2 ? 2 : 4;
}

static bool fits_int8_tiled(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                            const tsr_op *op, const char **why) {
    const int64_t gn = tsri_opencl_variant_tunable(variant, "GN"),
                  gm = tsri_opencl_variant_tunable(variant, "GM"), items = gn * gm,
                  row = tsri_opencl_variant_tunable(variant, "ROW_GROUP"), /* of the stage */
        rows = gm * tile_rows(op),
                  bytes = tsri_opencl_int8_tile_bytes(op, rows, gn * tile_columns(op)) +
                          4 * (rows + list_words(rows, items));
    return fits_int8(variant, facts, op, why) &&
           tsri_opencl_fits_group(facts, items < row ? row : items, bytes, why);
}

/* --- define --- */

static void define(const tsri_opencl_variant *variant, const tsr_op *op,
                   tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_operand(defines, "W", op->in[W]);
    tsri_opencl_define_operand(defines, "BIAS", tsri_opencl_in(op, BIAS));
    tsri_opencl_define_int(defines, "HAS_BIAS", tsri_opencl_in(op, BIAS) != NULL);
    tsri_opencl_define_activation(op, defines);
    tsri_opencl_define_int(defines, "GATED", tsri_opencl_is_gated(op));
    if (tsri_opencl_weighted_attrs(op)->whole) {
        tsri_opencl_define_int(defines, "FIRST_EXPERT", (int)tsri_opencl_weighted_attrs(op)->first);
        tsri_opencl_define_int(defines, "EXPERTS", (int)tsri_opencl_weighted_attrs(op)->whole);
    }
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    define(variant, op, defines);
    tsri_opencl_define_int(defines, "TRANS_W", tsri_opencl_weighted_attrs(op)->trans_w != 0);
    tsri_opencl_define_int(defines, "INT8",
                           tsri_opencl_weighted_attrs(op)->compute == TSR_COMPUTE_INT8);
}

static void define_packed(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    define(variant, op, defines);
    tsri_opencl_define_int(defines, "BY_PAIR", by_pair(op));
}

static void define_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    const bool transposed = tsri_opencl_weighted_attrs(op)->trans_w != 0;
    const int64_t depth = tsri_opencl_weight_depth(op),
                  along = transposed ? depth : tsri_tensor_columns(op->out[Y]).factor;
    const tsr_tensor *x = op->in[X];
    define_packed(variant, op, defines);
    tsri_opencl_define_int(defines, "TRANS_W", transposed);
    tsri_opencl_define_int(defines, "FOUR_X",
                           tsri_opencl_by_fours(x, depth, tsri_opencl_row_stride(x)));
    tsri_opencl_define_int(defines, "FOUR_W", tsri_opencl_by_fours(op->in[W], along, along));
}

static void define_blocks(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    define_packed(variant, op, defines);
    tsri_opencl_define_int(defines, "WIDE", is_wide(op));
    tsri_opencl_define_int(defines, "INT8",
                           tsri_opencl_weighted_attrs(op)->compute == TSR_COMPUTE_INT8);
}

static void define_int8_few(const tsri_opencl_variant *variant, const tsr_op *op,
                            tsri_opencl_defines *defines) {
    define(variant, op, defines);
    tsri_opencl_define_few_blocks(variant, op, few_pairs(op),
                                  few_steps(variant, op, tsri_opencl_define_value(defines, "SPLIT"),
                                            tsri_opencl_define_value(defines, "DEPTH")),
                                  defines);
}

static void define_int8_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_defines *defines) {
    define(variant, op, defines);
    tsri_opencl_define_int(defines, "DOT", variant->probe == TSRI_OPENCL_PROBE_DOT);
    tsri_opencl_define_int(defines, "TM", tile_rows(op));
    tsri_opencl_define_int(defines, "TN", tile_columns(op));
}

/* --- bind --- */

static void bind_from_weight(const tsr_op *op, tsri_opencl_launch *launch, const char *depth) {
    const tsr_dim J = op->in[EXPERTS]->dim[1];
    const bool shared = tsri_tensor_is_one(op->in[X]->dim[1]);
    tsri_opencl_arg_inputs(launch, op, W, BIAS);
    tsri_opencl_arg_tensor(launch, "y", op->out[Y]);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "P", pairs_of(op));
    tsri_opencl_arg_int(launch, "E", op->in[W]->dim[0].factor);
    tsri_opencl_arg_int(launch, "N", tsri_tensor_columns(op->out[Y]).factor);
    tsri_opencl_arg_int(launch, depth, tsri_opencl_weight_depth(op));
    tsri_opencl_arg_int(launch, "share", shared ? J.factor : 1);
}

static void bind(const tsr_op *op, tsri_opencl_launch *launch, const char *depth) {
    tsri_opencl_arg_tensor(launch, "x", op->in[X]);
    bind_from_weight(op, launch, depth);
    tsri_opencl_arg_row(launch, "x", op->in[X]);
    tsri_opencl_arg_row(launch, "y", op->out[Y]);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const int tn = tsri_opencl_tuned(launch, "TN");
    bind(op, launch, "K");
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(op->out[Y]), tn);
    tsri_opencl_grid(launch, 1, pairs_of(op), 1);
    tsri_opencl_work(launch, tsri_tensor_const(tsri_opencl_weight_depth(op) * tn *
                                               (tsri_opencl_is_gated(op) ? 2 : 1)));
}

/* `columns` outputs of all pairs of an expert for a work-item. Its work is that of its share. */
static void bind_panels(const tsr_op *op, tsri_opencl_launch *launch, int columns) {
    const int64_t E = op->in[W]->dim[0].factor, pairs = tsri_opencl_highest(op, pairs_of(op));
    bind(op, launch, "K");
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(op->out[Y]), columns);
    tsri_opencl_grid(launch, 1, by_pair(op) ? pairs_of(op) : tsri_tensor_const(E), 1);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const((pairs + E - 1) / E * tsri_opencl_weight_depth(op) *
                                               columns * (tsri_opencl_is_gated(op) ? 2 : 1)));
}

static void bind_packed(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    bind_panels(op, launch, tsri_opencl_is_gated(op) ? PANEL / 2 : PANEL);
}

static void bind_blocks(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    bind_panels(op, launch, PANEL);
}

/* Work-groups with tiles of tm x tn sums for each work-item: all pairs of an expert, or of the expert of a pair. */
static void group_tiles(const tsr_op *op, tsri_opencl_launch *launch, bool by_pairs, int tm,
                        int tn) {
    const int gn = tsri_opencl_tuned(launch, "GN"), gm = tsri_opencl_tuned(launch, "GM");
    const int64_t E = op->in[W]->dim[0].factor, pairs = tsri_opencl_highest(op, pairs_of(op)),
                  rows = (int64_t)gm * tm, tiles = ((pairs + E - 1) / E + rows - 1) / rows,
                  width = (int64_t)gn * tn / (tsri_opencl_is_gated(op) ? 2 : 1),
                  groups = (tsri_tensor_columns(op->out[Y]).factor + width - 1) / width;
    tsri_opencl_grid(launch, 0, tsri_tensor_const(groups * gn), 1);
    tsri_opencl_grid(
        launch, 1,
        tsri_tensor_times(by_pairs ? pairs_of(op) : tsri_tensor_const(E), tsri_tensor_const(gm)),
        1);
    tsri_opencl_group(launch, gn, gm, 1);
    tsri_opencl_work(launch, tsri_tensor_const(tiles * tsri_opencl_weight_depth(op) * tm * tn));
}

static void bind_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind(op, launch, "depth");
    group_tiles(op, launch, by_pair(op), tsri_opencl_tuned(launch, "TM"),
                tsri_opencl_tuned(launch, "TN"));
}

static void bind_int8_few(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_launch *launch) {
    const int split = tsri_opencl_tuned(launch, "SPLIT"), items = 32 * split;
    const int64_t outputs = tsri_tensor_columns(op->out[Y]).factor;
    if (variant->before)
        tsri_opencl_arg_scratch(launch, "x", tsri_opencl_quantised_bytes(op));
    else
        tsri_opencl_arg_tensor(launch, "x", op->in[X]);
    bind_from_weight(op, launch, "depth");
    if (!variant->before)
        tsri_opencl_arg_row(launch, "x", op->in[X]);
    tsri_opencl_arg_row(launch, "y", op->out[Y]);
    tsri_opencl_grid(launch, 0, tsri_tensor_const((outputs + 31) / 32 * items), 1);
    tsri_opencl_grid(launch, 1, pairs_of(op), 1);
    tsri_opencl_group(launch, items, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(tsri_opencl_weight_depth(op) / split *
                                               few_pairs(op) * (tsri_opencl_is_gated(op) ? 2 : 1)));
}

static void bind_int8_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                            tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_arg_scratch(launch, "x", tsri_opencl_quantised_bytes(op));
    bind_from_weight(op, launch, "depth");
    tsri_opencl_arg_row(launch, "y", op->out[Y]);
    group_tiles(op, launch, false, tile_rows(op), tile_columns(op));
}

/* clang-format off */
#define TILED(name_, op_, score_, tile, fits_)                                                    \
    {.name = name_, .op = op_, .file = "experts/tiled.cl", .gpu = true, .score = score_,          \
     .weight_operand = W, tile, .fits = fits_, .define = define_tiled, .bind = bind_tiled}
#define PANELS(name_, op_, file_, score_, layout_, mr, most, fits_, define_, bind_)              \
    {.name = name_, .op = op_, .file = "experts/" file_, .score = score_, .weight_operand = W,    \
     .layout = &tsri_opencl_layout_##layout_, .tunables = {{"MR", mr, 1, most}}, .fits = fits_, \
     .define = define_, .bind = bind_}
#define INT8_ONE(name_, op_, file_, before_, kind, score_, dot, ...)                              \
    {.name = name_, .op = op_, .file = "experts/" file_, .before = before_, .gpu = true,          \
     .probe = dot ? TSRI_OPENCL_PROBE_DOT : TSRI_OPENCL_PROBE_NONE, .newest_c = dot,              \
     .score = score_, .tunables = {__VA_ARGS__, TSRI_OPENCL_SUB},                                 \
     .layout = &tsri_opencl_layout_panels32_blocks, .weight_operand = W, .fits = fits_##kind,     \
     .define = define_##kind, .bind = bind_##kind}
#define INT8(name_, op_, file_, before_, kind, dot_score, score_, ...)                            \
    INT8_ONE(name_ "_dot", op_, file_, before_, kind, dot_score, true, __VA_ARGS__),              \
    INT8_ONE(name_, op_, file_, before_, kind, score_, false, __VA_ARGS__)
#define VARIANTS(op_)                                                                            \
    PANELS("packed", op_, "packed.cl", 80, panels64, 6, 7, fits_packed, define_packed, bind_packed), \
    PANELS("blocks_few", op_, "blocks.cl", 75, panels64_blocks, 1, 6, fits_blocks_few, define_blocks, \
           bind_blocks),                                                                         \
    PANELS("blocks", op_, "blocks.cl", 70, panels64_blocks, 3, 6, fits_blocks, define_blocks, bind_blocks), \
    INT8("int8_direct", op_, "few_int8.cl", NULL, int8_few, 69, 49, {"SPLIT", 2, 1, 8}, {"DEPTH", 4, 1, 8}), \
    INT8("int8_few", op_, "few_int8.cl", &tsri_opencl_stage_quantise_rows, int8_few, 68, 48,      \
         {"SPLIT", 2, 1, 8}, {"DEPTH", 4, 1, 8}, {"ROW_GROUP", 64, 64, 256}),                     \
    INT8("int8_panels", op_, "tiled_int8.cl", &tsri_opencl_stage_quantise_rows, int8_tiled, 67, 47, \
         {"GN", 16, 4, 32}, {"GM", 4, 1, 16}, {"ROW_GROUP", 64, 64, 256}),                        \
    TILED("tiled_few", op_, 60, TSRI_OPENCL_TILE(16, 4, 1, 2, 64), fits_tiled_few),               \
    TILED("tiled_64", op_, 55, TSRI_OPENCL_TILE_64, fits_tiled_64),                               \
    TILED("tiled", op_, 50, TSRI_OPENCL_TILE(16, 4, 8, 4, 16), fits_tiled),                       \
    {TSRI_OPENCL_PLAIN(op_, "experts", fits, define_plain, bind_plain),                           \
     .tunables = {{"TN", 2, 1, 8}}, .weight_operand = W},                                        \
    {.name = NULL},
/* clang-format on */

const tsri_opencl_variant tsri_opencl_variants_expert_linear[] = {VARIANTS(TSR_OP_EXPERT_LINEAR)};
const tsri_opencl_variant tsri_opencl_variants_expert_glu_linear[] = {
    VARIANTS(TSR_OP_EXPERT_GLU_LINEAR)};
