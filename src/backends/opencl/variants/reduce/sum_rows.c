/* backends/opencl/variants/reduce/sum_rows.c - sum_rows, and what norm_weight_grad shares with it: a
 * stage sums tiles of rows, the kernel adds these partial sums. */
#include "backends/opencl/variants/reduce/sum_rows.h"

enum { BLOCK = 64 };                   /* rows that are added into one partial sum */
enum { STAGE_LANES = 64, LANES = 16 }; /* columns for each work-item of the CPU kernels */

static bool norm(const tsr_op *op) {
    return op->id == TSR_OP_NORM_WEIGHT_GRAD;
}

/* The op's operands: x, or x, dy and stats. */
static uint32_t operands_of(const tsr_op *op) {
    return norm(op) ? 3 : 1;
}

/* The number of sums for each column. */
static int parts_of(const tsr_op *op) {
    return norm(op) && tsri_opencl_out(op, 1) ? 2 : 1;
}

bool tsri_opencl_sums_fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    if (!(norm(op) ? tsri_opencl_fits_grouped_rows : tsri_opencl_fits_rows)(op->in[0], why))
        return false;
    for (uint32_t i = 1; i < operands_of(op); i++)
        if (!tsri_opencl_fits_rows(op->in[i], why))
            return false;
    return tsri_opencl_fits_vector(op->out[0], why) &&
           tsri_opencl_fits_vector(tsri_opencl_out(op, 1), why) && tsri_opencl_fits_index(op, why);
}

bool tsri_opencl_sums_fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    return tsri_opencl_fits_vectors(facts, why) &&
           tsri_opencl_sums_fits_plain(variant, facts, op, why);
}

void tsri_opencl_sums_define_stage(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_int(defines, "BLOCK", BLOCK);
    if (norm(op))
        tsri_opencl_define_int(defines, "PARTS", parts_of(op));
}

void tsri_opencl_sums_define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_int(defines, "BLOCK", BLOCK);
    tsri_opencl_define_int(defines, "PARTS", parts_of(op));
}

/* The number of partial sums at the plan's largest sizes. */
static int64_t blocks_of(const tsr_op *op) {
    return (tsri_opencl_highest(op, tsri_tensor_rows(op->in[0])) + BLOCK - 1) / BLOCK;
}

static void arg_sums(const tsr_op *op, tsri_opencl_launch *launch) {
    const int64_t columns = tsri_opencl_highest(op, tsri_tensor_columns(op->in[0]));
    tsri_opencl_arg_scratch(launch, "sums",
                            tsri_tensor_const(blocks_of(op) * columns * parts_of(op) * 4));
}

static void bind_stage(const tsr_op *op, tsri_opencl_launch *launch, int lanes) {
    const tsr_tensor *x = op->in[0];
    tsri_opencl_arg_inputs(launch, op, 0, operands_of(op) - 1);
    arg_sums(op, launch);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(x));
    tsri_opencl_arg_dim(launch, "C", tsri_tensor_columns(x));
    (norm(op) ? tsri_opencl_arg_grouped_rows : tsri_opencl_arg_row)(launch, "x", x);
    if (norm(op)) {
        tsri_opencl_arg_row(launch, "dy", op->in[1]);
        tsri_opencl_arg_row(launch, "stats", op->in[2]);
    }
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(x), lanes);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(x), BLOCK);
    tsri_opencl_work(launch, tsri_tensor_const(BLOCK * (lanes > 1 ? lanes / 8 : 1)));
}

void tsri_opencl_sums_bind_stage_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                       tsri_opencl_launch *launch) {
    (void)variant;
    bind_stage(op, launch, 1);
}

void tsri_opencl_sums_bind_stage_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                       tsri_opencl_launch *launch) {
    (void)variant;
    bind_stage(op, launch, STAGE_LANES);
}

static void bind_sums(const tsr_op *op, tsri_opencl_launch *launch, int lanes) {
    arg_sums(op, launch);
    tsri_opencl_arg_tensor(launch, "y", op->out[0]);
    tsri_opencl_arg_tensor(launch, "z", parts_of(op) > 1 ? op->out[1] : NULL);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(op->in[0]));
    tsri_opencl_arg_dim(launch, "C", tsri_tensor_columns(op->in[0]));
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(op->in[0]), lanes);
    tsri_opencl_work(launch, tsri_tensor_const(blocks_of(op)));
}

void tsri_opencl_sums_bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch) {
    (void)variant;
    bind_sums(op, launch, 1);
}

void tsri_opencl_sums_bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch) {
    (void)variant;
    bind_sums(op, launch, LANES);
}

static const tsri_opencl_stage sum_blocks =
                                   TSRI_OPENCL_SUMS_STAGE("sum_blocks", "sum_rows/blocks.cl",
                                                          tsri_opencl_sums_bind_stage_plain),
                               sum_blocks_lanes = TSRI_OPENCL_SUMS_STAGE(
                                   "sum_blocks_lanes", "sum_rows/blocks_lanes.cl",
                                   tsri_opencl_sums_bind_stage_lanes);

const tsri_opencl_variant tsri_opencl_variants_sum_rows[] = {
    TSRI_OPENCL_SUM_ROWS_TABLE(TSR_OP_SUM_ROWS, sum_blocks, sum_blocks_lanes)};
