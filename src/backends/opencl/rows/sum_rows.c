/* sum_rows and norm_weight_grad: sums over rows, in blocks. */
#include "backends/opencl/rows/common.h"

enum { BLOCK = 64 }; /* rows that are added before their sum joins the others */

/* Operands of the op: x, or x, dy and stats. */
static uint32_t operands_of(const tsr_op *op) {
    return op->id == TSR_OP_NORM_WEIGHT_GRAD ? 3 : 1;
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

static void define_plain(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    tsri_opencl_define_int(defines, "BLOCK", BLOCK);
    if (op->id == TSR_OP_NORM_WEIGHT_GRAD)
        tsri_opencl_define_int(defines, "HAS_BIAS", tsri_opencl_out(op, 1) != NULL);
}

static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_tensor *x = op->in[0];
    for (uint32_t i = 0; i < operands_of(op); i++)
        tsri_opencl_arg_tensor(launch, op->in[i]);
    tsri_opencl_arg_tensor(launch, op->out[0]);
    if (op->id == TSR_OP_NORM_WEIGHT_GRAD)
        tsri_opencl_arg_tensor(launch, tsri_opencl_out(op, 1));
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, tsri_tensor_rows(x));
    tsri_opencl_arg_dim(launch, tsri_tensor_columns(x));
    for (uint32_t i = 0; i < operands_of(op); i++)
        tsri_opencl_arg_int(launch, tsri_opencl_row_stride(op->in[i]));
}

static void bind_plain(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(op->in[0]), 1);
    tsri_opencl_work(launch, tsri_tensor_rows(op->in[0]));
}

#define ROWS(id, folder)         \
    {.name = "plain",            \
     .op = id,                   \
     .file = folder "/plain.cl", \
     .plain = true,              \
     .score = 10,                \
     .weight_operand = -1,       \
     .fits = fits_plain,         \
     .define = define_plain,     \
     .bind = bind_plain},        \
    {                            \
        .name = NULL             \
    }

const tsri_opencl_row tsri_opencl_rows_sum_rows[] = {ROWS(TSR_OP_SUM_ROWS, "sum_rows")};
const tsri_opencl_row tsri_opencl_rows_norm_weight_grad[] = {
    ROWS(TSR_OP_NORM_WEIGHT_GRAD, "norm_weight_grad")};
