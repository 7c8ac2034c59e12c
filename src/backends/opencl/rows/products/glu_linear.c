/* backends/opencl/rows/products/glu_linear.c - glu_linear: two products of one input, the second
 * passed through an activation. */
#include "backends/opencl/rows/shared/blocks.h"
#include "backends/opencl/rows/shared/clblast.h"
#include "backends/opencl/rows/shared/group.h"
#include "backends/opencl/rows/shared/weighted.h"

TSRI_OPERANDS(glu_linear);

static bool fits_plain(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    (void)row, (void)facts;
    return tsri_opencl_fits_weighted(op, why);
}

static bool fits_packed(const tsri_opencl_row *row, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    (void)row;
    const tsr_glu_linear_attrs *attrs = op->attrs;
    if (tsri_tensor_columns(op->out[Y]).factor % 64 != 0)
        return tsri_opencl_refuse(why, "needs a feed-forward width that is a multiple of 64");
    return tsri_opencl_fits_panels(facts, op, attrs->trans_w != 0, why) &&
           tsri_opencl_fits_weighted(op, why);
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

static void define_plain(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    const tsr_glu_linear_attrs *attrs = op->attrs;
    tsri_opencl_define_weighted(op, attrs->activation, defines);
    tsri_opencl_define_plain(op, attrs->trans_w != 0, attrs->compute, defines);
}

static void define_packed(const tsri_opencl_row *row, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    (void)row;
    const tsr_glu_linear_attrs *attrs = op->attrs;
    tsri_opencl_define_weighted(op, attrs->activation, defines);
}

static void bind_plain(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_tensor *y = op->out[Y];
    const int tn = tsri_opencl_tuned(launch, "TN"), tm = tsri_opencl_tile_rows(op);
    tsri_opencl_bind_glu_linear(op, launch, tm, tn);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(y), tn);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(y), tm);
}

static void bind_packed(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_tensor *y = op->out[Y];
    const int mr = tsri_opencl_tuned(launch, "MR"), lanes = 16 * tsri_opencl_tuned(launch, "NV");
    tsri_opencl_bind_glu_linear(op, launch, mr, lanes);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(y), mr);
    tsri_opencl_grid(launch, 1, tsri_tensor_columns(y), lanes);
    tsri_opencl_group(launch, 1, 1, 1);
}

static void bind_one(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const int outputs = 16 * tsri_opencl_tuned(launch, "NV");
    tsri_opencl_bind_glu_linear(op, launch, 1, outputs);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(op->out[Y]), outputs);
    tsri_opencl_group(launch, 1, 1, 1);
}

static void bind_few(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    tsri_opencl_bind_glu_linear(op, launch, TSRI_OPENCL_FEW_ROWS, 64);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(op->out[Y]), TSRI_OPENCL_FEW_ROWS);
    tsri_opencl_grid(launch, 1, tsri_tensor_columns(op->out[Y]), 64);
    tsri_opencl_group(launch, 1, 1, 1);
}

#define PACKED(variant, file_, score_, fits_, bind_, ...)                                       \
    {                                                                                           \
        .name = variant, .op = TSR_OP_GLU_LINEAR, .file = "glu_linear/" file_, .score = score_, \
        .tunables = {__VA_ARGS__}, .layout = &tsri_opencl_layout_panels64, .weight_operand = W, \
        .fits = fits_, .define = define_packed, .bind = bind_                                   \
    }

const tsri_opencl_row tsri_opencl_rows_glu_linear[] = {
    PACKED("packed_split", "packed_one.cl", 92, fits_split, bind_one, {"NV", 1, 1, 2},
           {"AHEAD", 0, 0, 64}),
    PACKED("packed_one", "packed_one.cl", 90, fits_one, bind_one, {"NV", 4, 4, 4},
           {"AHEAD", 0, 0, 64}),
    PACKED("packed_few", "packed_few.cl", 85, fits_few, bind_few, {0}),
    PACKED("packed", "packed.cl", 80, fits_packed, bind_packed, {"MR", 6, 1, 7}, {"NV", 2, 2, 2}),
    TSRI_OPENCL_BLOCKS_ROWS(TSR_OP_GLU_LINEAR, "glu_linear"),
    TSRI_OPENCL_TILED_GLU_LINEAR,
    TSRI_OPENCL_CLBLAST_GLU_LINEAR, /* used only where it is forced: its score is the lowest */
    {.name = "plain",
     .op = TSR_OP_GLU_LINEAR,
     .file = "glu_linear/plain.cl",
     .plain = true,
     .score = 10,
     .tunables = {{"TN", 2, 1, 8}},
     .weight_operand = W,
     .fits = fits_plain,
     .define = define_plain,
     .bind = bind_plain},
    {.name = NULL},
};
