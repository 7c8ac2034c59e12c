/* backends/opencl/rows/reduce/sum_rows.c - sum_rows and norm_weight_grad: a stage sums tiles of
 * rows, the kernel adds these partial sums. */
#include "backends/opencl/rows/shared/common.h"

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

static bool fits_plain(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    (void)row, (void)facts;
    for (uint32_t i = 0; i < operands_of(op); i++)
        if (!tsri_opencl_fits_rows(op->in[i], why))
            return false;
    return tsri_opencl_fits_vector(op->out[0], why) &&
           tsri_opencl_fits_vector(tsri_opencl_out(op, 1), why) && tsri_opencl_fits_index(op, why);
}

static bool fits_lanes(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    return tsri_opencl_fits_vectors(facts, why) && fits_plain(row, facts, op, why);
}

static void define_stage(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    tsri_opencl_define_int(defines, "BLOCK", BLOCK);
    if (norm(op))
        tsri_opencl_define_int(defines, "PARTS", parts_of(op));
}

static void define_plain(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
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
    tsri_opencl_arg_row(launch, "x", x);
    if (operands_of(op) > 1) {
        tsri_opencl_arg_row(launch, "dy", op->in[1]);
        tsri_opencl_arg_row(launch, "stats", op->in[2]);
    }
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(x), lanes);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(x), BLOCK);
    tsri_opencl_work(launch, tsri_tensor_const(BLOCK * (lanes > 1 ? lanes / 8 : 1)));
}

static void bind_stage_plain(const tsri_opencl_row *row, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    (void)row;
    bind_stage(op, launch, 1);
}

static void bind_stage_lanes(const tsri_opencl_row *row, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    (void)row;
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

static void bind_plain(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    bind_sums(op, launch, 1);
}

static void bind_lanes(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    bind_sums(op, launch, LANES);
}

#define STAGE(name_, file_, bind_) \
    { .name = name_, .file = file_, .define = define_stage, .bind = bind_ }

static const tsri_opencl_stage
    sum_blocks = STAGE("sum_blocks", "sum_rows/blocks.cl", bind_stage_plain),
    sum_blocks_lanes = STAGE("sum_blocks_lanes", "sum_rows/blocks_lanes.cl", bind_stage_lanes),
    norm_blocks = STAGE("norm_blocks", "norm_weight_grad/blocks.cl", bind_stage_plain),
    norm_blocks_lanes =
        STAGE("norm_blocks_lanes", "norm_weight_grad/blocks_lanes.cl", bind_stage_lanes);

#define ROWS(id, blocks, blocks_lanes)                                            \
    {TSRI_OPENCL_LANES(id, "sum_rows", 40, fits_lanes, define_plain, bind_lanes), \
     .before = &blocks_lanes, .weight_operand = -1},                              \
        {TSRI_OPENCL_PLAIN(id, "sum_rows", fits_plain, define_plain, bind_plain), \
         .before = &blocks, .weight_operand = -1},                                \
    {                                                                             \
        .name = NULL                                                              \
    }

const tsri_opencl_row tsri_opencl_rows_sum_rows[] = {
    ROWS(TSR_OP_SUM_ROWS, sum_blocks, sum_blocks_lanes)};
const tsri_opencl_row tsri_opencl_rows_norm_weight_grad[] = {
    ROWS(TSR_OP_NORM_WEIGHT_GRAD, norm_blocks, norm_blocks_lanes)};
