/* backends/opencl/variants/products/expert_linear.c - expert_linear and expert_glu_linear: products
 * with one of several weights for each row, grouped by weight. */
#include "backends/opencl/variants/shared/common.h"
#include "backends/opencl/variants/shared/group.h"
#include "tensor/quantize.h"

TSRI_OPERANDS(
    expert_linear); /* expert_glu_linear has the same, and its attributes begin with the same fields */

enum { PANEL = 64 };

static const tsr_linear_attrs *attrs_of(const tsr_op *op) {
    return op->attrs;
}

static bool is_gated(const tsr_op *op) {
    return op->id == TSR_OP_EXPERT_GLU_LINEAR;
}

static tsr_dim pairs_of(const tsr_op *op) {
    return tsri_tensor_count(op->in[EXPERTS]);
}

static int64_t depth_of(const tsr_op *op) {
    return op->in[W]->dim[attrs_of(op)->trans_w ? 2 : 1].factor;
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
    if (!attrs_of(op)->trans_w)
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
    return !tsri_tensor_is_written_blocks((tsr_dtype)op->in[W]->dtype);
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

/* For work-groups of 64 that share local memory: tiles of 4 * TM pairs by 64 sums. */
static bool fits_tiled(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    enum { STEP = 16, SUMS = 64 };
    const int64_t rows = 4 * (int64_t)tsri_opencl_variant_tunable(variant, "TM"),
                  floats = STEP * (SUMS + 1 + rows + 1) + rows + SUMS + 1;
    if (attrs_of(op)->compute == TSR_COMPUTE_INT8)
        return tsri_opencl_refuse(why, "its products are of floats; this op asks for int8");
    return tsri_opencl_fits_group(facts, SUMS, 4 * floats, why) && fits(variant, facts, op, why);
}

static bool fits_tiled_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why) {
    return fits_few(op, why) && fits_tiled(variant, facts, op, why);
}

/* --- define --- */

static void define(const tsri_opencl_variant *variant, const tsr_op *op,
                   tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_operand(defines, "W", op->in[W]);
    tsri_opencl_define_operand(defines, "BIAS", tsri_opencl_in(op, BIAS));
    tsri_opencl_define_int(defines, "HAS_BIAS", tsri_opencl_in(op, BIAS) != NULL);
    if (is_gated(op))
        tsri_opencl_define_product_gates(defines, op->attrs);
    else
        tsri_opencl_define_int(defines, "ACT", (int)attrs_of(op)->activation);
    tsri_opencl_define_int(defines, "GATED", is_gated(op));
    if (attrs_of(op)->whole) {
        tsri_opencl_define_int(defines, "FIRST_EXPERT", (int)attrs_of(op)->first);
        tsri_opencl_define_int(defines, "EXPERTS", (int)attrs_of(op)->whole);
    }
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    define(variant, op, defines);
    tsri_opencl_define_int(defines, "TRANS_W", attrs_of(op)->trans_w != 0);
    tsri_opencl_define_int(defines, "INT8", attrs_of(op)->compute == TSR_COMPUTE_INT8);
}

static void define_packed(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    define(variant, op, defines);
    tsri_opencl_define_int(defines, "BY_PAIR", by_pair(op));
}

static void define_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    define_packed(variant, op, defines);
    tsri_opencl_define_int(defines, "TRANS_W", attrs_of(op)->trans_w != 0);
}

static void define_blocks(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    define_packed(variant, op, defines);
    tsri_opencl_define_int(defines, "WIDE", is_wide(op));
    tsri_opencl_define_int(defines, "INT8", attrs_of(op)->compute == TSR_COMPUTE_INT8);
}

/* --- bind --- */

static void bind(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_dim J = op->in[EXPERTS]->dim[1];
    const bool shared = tsri_tensor_is_one(op->in[X]->dim[1]);
    tsri_opencl_arg_inputs(launch, op, X, BIAS);
    tsri_opencl_arg_tensor(launch, "y", op->out[Y]);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "P", pairs_of(op));
    tsri_opencl_arg_int(launch, "E", op->in[W]->dim[0].factor);
    tsri_opencl_arg_int(launch, "N", tsri_tensor_columns(op->out[Y]).factor);
    tsri_opencl_arg_int(launch, "K", depth_of(op));
    tsri_opencl_arg_int(launch, "share", shared ? J.factor : 1);
    tsri_opencl_arg_row(launch, "x", op->in[X]);
    tsri_opencl_arg_row(launch, "y", op->out[Y]);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const int tn = tsri_opencl_tuned(launch, "TN");
    bind(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(op->out[Y]), tn);
    tsri_opencl_grid(launch, 1, pairs_of(op), 1);
    tsri_opencl_work(launch, tsri_tensor_const(depth_of(op) * tn * (is_gated(op) ? 2 : 1)));
}

/* `columns` outputs of all pairs of an expert for a work-item. Its work is that of its share. */
static void bind_panels(const tsr_op *op, tsri_opencl_launch *launch, int columns) {
    const int64_t E = op->in[W]->dim[0].factor, pairs = tsri_opencl_highest(op, pairs_of(op));
    bind(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(op->out[Y]), columns);
    tsri_opencl_grid(launch, 1, by_pair(op) ? pairs_of(op) : tsri_tensor_const(E), 1);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const((pairs + E - 1) / E * depth_of(op) * columns *
                                               (is_gated(op) ? 2 : 1)));
}

static void bind_packed(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    bind_panels(op, launch, is_gated(op) ? PANEL / 2 : PANEL);
}

static void bind_blocks(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    bind_panels(op, launch, PANEL);
}

static void bind_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    enum { GROUP = 64 };
    const int64_t E = op->in[W]->dim[0].factor, pairs = tsri_opencl_highest(op, pairs_of(op)),
                  outputs = is_gated(op) ? PANEL / 2 : PANEL,
                  groups = (tsri_tensor_columns(op->out[Y]).factor + outputs - 1) / outputs;
    (void)variant;
    bind(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(groups * GROUP), 1);
    tsri_opencl_grid(launch, 1, by_pair(op) ? pairs_of(op) : tsri_tensor_const(E), 1);
    tsri_opencl_group(launch, GROUP, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const((pairs + E - 1) / E * depth_of(op)));
}

/* clang-format off */
#define TILED(name_, op_, score_, tm, fits_)                                                      \
    {.name = name_, .op = op_, .file = "experts/tiled.cl", .gpu = true, .score = score_,          \
     .weight_operand = W, .tunables = {{"TM", tm, 1, 8}}, .fits = fits_, .define = define_tiled,  \
     .bind = bind_tiled}
#define PANELS(name_, op_, file_, score_, layout_, mr, most, fits_, define_, bind_)              \
    {.name = name_, .op = op_, .file = "experts/" file_, .score = score_, .weight_operand = W,    \
     .layout = &tsri_opencl_layout_##layout_, .tunables = {{"MR", mr, 1, most}}, .fits = fits_, \
     .define = define_, .bind = bind_}
#define VARIANTS(op_)                                                                            \
    PANELS("packed", op_, "packed.cl", 80, panels64, 6, 7, fits_packed, define_packed, bind_packed), \
    PANELS("blocks_few", op_, "blocks.cl", 75, panels64_blocks, 1, 6, fits_blocks_few, define_blocks, \
           bind_blocks),                                                                         \
    PANELS("blocks", op_, "blocks.cl", 70, panels64_blocks, 3, 6, fits_blocks, define_blocks, bind_blocks), \
    TILED("tiled_few", op_, 60, 1, fits_tiled_few),                                               \
    TILED("tiled", op_, 50, 4, fits_tiled),                                                       \
    {TSRI_OPENCL_PLAIN(op_, "experts", fits, define_plain, bind_plain),                           \
     .tunables = {{"TN", 2, 1, 8}}, .weight_operand = W},                                        \
    {.name = NULL},
/* clang-format on */

const tsri_opencl_variant tsri_opencl_variants_expert_linear[] = {VARIANTS(TSR_OP_EXPERT_LINEAR)};
const tsri_opencl_variant tsri_opencl_variants_expert_glu_linear[] = {
    VARIANTS(TSR_OP_EXPERT_GLU_LINEAR)};
