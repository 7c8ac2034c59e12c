/* backends/opencl/variants/products/linear.c - linear: the product with a weight, stored as plain rows
 * or panels, as numbers or blocks; with half and int8 products. */
#include "backends/opencl/variants/shared/bf16.h"
#include "backends/opencl/variants/shared/blocks.h"
#include "backends/opencl/variants/shared/cached.h"
#include "backends/opencl/variants/shared/clblast.h"
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/weighted.h"

TSRI_OPERANDS(linear);

static bool fits_cached(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    (void)variant;
    return tsri_opencl_fits_cached(facts, op, tsri_tensor_columns(op->out[Y]), why) &&
           tsri_opencl_fits_vector(op->in[W], why) && tsri_opencl_fits_weighted(op, why);
}

static void define_cached(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    const tsr_linear_attrs *attrs = op->attrs;
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_int(defines, "TRANS_W", attrs->trans_w != 0);
    tsri_opencl_define_int(defines, "ROWS", TSRI_OPENCL_CACHED_ROWS);
}

static void bind_cached(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    const int each = tsri_opencl_cached_rows(
        launch, op, tsri_tensor_rows(op->out[Y]), tsri_tensor_columns(op->out[Y]),
        tsri_opencl_tuned(launch, "MR"), TSRI_OPENCL_CACHED_ROWS);
    tsri_opencl_bind_panels(op, launch, each, TSRI_OPENCL_CACHED_COLUMNS);
    tsri_opencl_arg_int(launch, "each", each);
}

static bool fits_cached_bf16(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why) {
    (void)variant;
    const tsr_linear_attrs *attrs = op->attrs;
    return tsri_opencl_fits_vector(op->in[W], why) && tsri_opencl_fits_weighted(op, why) &&
           tsri_opencl_fits_cached_bf16(facts, op, attrs->compute, tsri_tensor_columns(op->out[Y]),
                                        why);
}

static void bind_cached_bf16(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_dim columns = tsri_tensor_columns(op->out[Y]);
    const int each = tsri_opencl_cached_bf16_rows(launch, op, columns);
    const int64_t depth = tsri_opencl_weight_depth(op);
    tsri_opencl_arg_from_weight(op, launch);
    tsri_opencl_arg_rounded(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(op->in[X]));
    tsri_opencl_arg_int(launch, "N", columns.factor);
    tsri_opencl_arg_int(launch, "K", depth);
    tsri_opencl_arg_row(launch, "residual", tsri_opencl_in(op, RESIDUAL));
    tsri_opencl_arg_row(launch, "y", op->out[Y]);
    tsri_opencl_arg_int(launch, "each", each);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(op->out[Y]), each);
    tsri_opencl_grid(launch, 1, columns, TSRI_OPENCL_CACHED_COLUMNS);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(depth * each * TSRI_OPENCL_CACHED_COLUMNS));
}

static void bind_packed(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_panels(op, launch, tsri_opencl_tuned(launch, "MR"), 64);
}

static void bind_one(const tsri_opencl_variant *variant, const tsr_op *op,
                     tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_panels_one(
        op, launch, 16 * tsri_opencl_tuned(launch, "STREAMS") * tsri_opencl_tuned(launch, "NV"));
}

#define PACKED(variant, file_, score_, fits, bind, ...) \
    TSRI_OPENCL_PACKED(variant, TSR_OP_LINEAR, "linear/" file_, score_, fits, bind, __VA_ARGS__)

const tsri_opencl_variant tsri_opencl_variants_linear[] = {
    PACKED("packed_split", "packed_one.cl", 92, tsri_opencl_fits_packed_split, bind_one,
           {"STREAMS", 1, 1, 1}, {"NV", 1, 1, 2}, {"AHEAD", 0, 0, 64}),
    PACKED("packed_one", "packed_one.cl", 90, tsri_opencl_fits_packed_one, bind_one,
           {"STREAMS", 1, 1, 4}, {"NV", 4, 4, 4}, {"AHEAD", 0, 0, 64}),
    PACKED("packed_few", "packed_few.cl", 85, tsri_opencl_fits_packed_few,
           tsri_opencl_bind_packed_few, {0}),
    PACKED("packed", "packed.cl", 80, tsri_opencl_fits_packed, bind_packed, {"MR", 6, 1, 7}),
    TSRI_OPENCL_CACHED_BF16(TSR_OP_LINEAR, "linear", W, fits_cached_bf16, define_cached,
                            bind_cached_bf16),
    {.name = "cached",
     .op = TSR_OP_LINEAR,
     .file = "linear/cached.cl",
     .score = 75,
     .tunables = {{"MR", 6, 1, 7}, {"KC", 256, 64, 512}},
     .weight_operand = W,
     .fits = fits_cached,
     .define = define_cached,
     .bind = bind_cached},
    TSRI_OPENCL_BF16_VARIANTS(TSR_OP_LINEAR, "linear"),
    TSRI_OPENCL_BLOCKS_VARIANTS(TSR_OP_LINEAR, "linear"),
    TSRI_OPENCL_TILED_ROWS(TSR_OP_LINEAR, "linear", 1, 64),
    TSRI_OPENCL_CLBLAST_LINEAR, /* used only where it is forced: its score is the lowest */
    TSRI_OPENCL_WEIGHTED_PLAIN(TSR_OP_LINEAR, "linear", 4),
    {.name = NULL},
};
