/* backends/opencl/rows/products/linear.c - linear: the product with a weight, stored as plain rows
 * or panels, as numbers or blocks; with half and int8 products. */
#include "backends/opencl/rows/shared/blocks.h"
#include "backends/opencl/rows/shared/cached.h"
#include "backends/opencl/rows/shared/clblast.h"
#include "backends/opencl/rows/shared/group.h"
#include "backends/opencl/rows/shared/weighted.h"

TSRI_OPERANDS(linear);

static bool fits_plain(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    (void)row, (void)facts;
    return tsri_opencl_fits_weighted(op, why) &&
           tsri_opencl_fits_rows(tsri_opencl_in(op, RESIDUAL), why);
}

static bool fits_packed(const tsri_opencl_row *row, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    const tsr_linear_attrs *attrs = op->attrs;
    return tsri_opencl_fits_panels(facts, op, attrs->trans_w != 0, why) &&
           fits_plain(row, facts, op, why);
}

static bool fits_one(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                     const char **why) {
    return tsri_opencl_fits_few_rows(op, 1, why) && fits_packed(row, facts, op, why);
}

static bool fits_split(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    return tsri_opencl_fits_few_panels(facts, op, why) && fits_one(row, facts, op, why);
}

static bool fits_few(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                     const char **why) {
    return tsri_opencl_fits_few_rows(op, TSRI_OPENCL_FEW_ROWS, why) &&
           fits_packed(row, facts, op, why);
}

static bool fits_cached(const tsri_opencl_row *row, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    return tsri_opencl_fits_cached(facts, op, tsri_tensor_columns(op->out[Y]), why) &&
           tsri_opencl_fits_vector(op->in[W], why) && fits_plain(row, facts, op, why);
}

static void define_cached(const tsri_opencl_row *row, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    (void)row;
    const tsr_linear_attrs *attrs = op->attrs;
    tsri_opencl_define_linear(op, defines);
    tsri_opencl_define_int(defines, "TRANS_W", attrs->trans_w != 0);
    tsri_opencl_define_int(defines, "ROWS", TSRI_OPENCL_CACHED_ROWS);
}

static void define_plain(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    const tsr_linear_attrs *attrs = op->attrs;
    tsri_opencl_define_linear(op, defines);
    tsri_opencl_define_plain(op, attrs->trans_w != 0, attrs->compute, defines);
}

static void define_packed(const tsri_opencl_row *row, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    (void)row;
    tsri_opencl_define_linear(op, defines);
}

static void bind_plain(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_tensor *y = op->out[Y];
    const int tn = tsri_opencl_tuned(launch, "TN"), tm = tsri_opencl_tile_rows(op);
    tsri_opencl_bind_linear(op, launch, tm, tn);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(y), tn);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(y), tm);
}

static void bind_packed(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_tensor *y = op->out[Y];
    const int mr = tsri_opencl_tuned(launch, "MR");
    tsri_opencl_bind_linear(op, launch, mr, 64);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(y), mr);
    tsri_opencl_grid(launch, 1, tsri_tensor_columns(y), 64);
    tsri_opencl_group(launch, 1, 1, 1);
}

static void bind_cached(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_dim rows = tsri_tensor_rows(op->out[Y]), outputs = tsri_tensor_columns(op->out[Y]);
    const int each = tsri_opencl_cached_rows(launch, op, rows, outputs);
    tsri_opencl_bind_linear(op, launch, each, TSRI_OPENCL_CACHED_COLUMNS);
    tsri_opencl_arg_int(launch, "each", each);
    tsri_opencl_grid(launch, 0, rows, each);
    tsri_opencl_grid(launch, 1, outputs, TSRI_OPENCL_CACHED_COLUMNS);
    tsri_opencl_group(launch, 1, 1, 1);
}

static void bind_one(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const int outputs = 16 * tsri_opencl_tuned(launch, "STREAMS") * tsri_opencl_tuned(launch, "NV");
    tsri_opencl_bind_linear(op, launch, 1, outputs);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(op->out[Y]), outputs);
    tsri_opencl_group(launch, 1, 1, 1);
}

static void bind_few(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    tsri_opencl_bind_linear(op, launch, TSRI_OPENCL_FEW_ROWS, 64);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(op->out[Y]), TSRI_OPENCL_FEW_ROWS);
    tsri_opencl_grid(launch, 1, tsri_tensor_columns(op->out[Y]), 64);
    tsri_opencl_group(launch, 1, 1, 1);
}

#define PACKED(variant, file_, score_, fits_, bind_, ...)                                       \
    {                                                                                           \
        .name = variant, .op = TSR_OP_LINEAR, .file = "linear/" file_, .score = score_,         \
        .tunables = {__VA_ARGS__}, .layout = &tsri_opencl_layout_panels64, .weight_operand = W, \
        .fits = fits_, .define = define_packed, .bind = bind_                                   \
    }

const tsri_opencl_row tsri_opencl_rows_linear[] = {
    PACKED("packed_split", "packed_one.cl", 92, fits_split, bind_one, {"STREAMS", 1, 1, 1},
           {"NV", 1, 1, 2}, {"AHEAD", 0, 0, 64}),
    PACKED("packed_one", "packed_one.cl", 90, fits_one, bind_one, {"STREAMS", 1, 1, 4},
           {"NV", 4, 4, 4}, {"AHEAD", 0, 0, 64}),
    PACKED("packed_few", "packed_few.cl", 85, fits_few, bind_few, {0}),
    PACKED("packed", "packed.cl", 80, fits_packed, bind_packed, {"MR", 6, 1, 7}),
    {.name = "cached",
     .op = TSR_OP_LINEAR,
     .file = "linear/cached.cl",
     .score = 75,
     .tunables = {{"MR", 6, 1, 7}, {"KC", 256, 64, 512}},
     .weight_operand = W,
     .fits = fits_cached,
     .define = define_cached,
     .bind = bind_cached},
    TSRI_OPENCL_BLOCKS_ROWS(TSR_OP_LINEAR, "linear"),
    TSRI_OPENCL_TILED_LINEAR,
    TSRI_OPENCL_CLBLAST_LINEAR, /* used only where it is forced: its score is the lowest */
    {.name = "plain",
     .op = TSR_OP_LINEAR,
     .file = "linear/plain.cl",
     .plain = true,
     .score = 10,
     .tunables = {{"TN", 4, 1, 8}},
     .weight_operand = W,
     .fits = fits_plain,
     .define = define_plain,
     .bind = bind_plain},
    {.name = NULL},
};
