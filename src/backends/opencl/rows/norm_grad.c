#include "backends/opencl/rows/common.h"

enum { X, WEIGHT, DY, ADDEND };

static bool fits_plain(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    (void)row, (void)facts;
    if (!tsri_opencl_is_constant(tsri_tensor_columns(op->in[X])))
        return tsri_opencl_refuse(why, "the normed dimension is not constant");
    return tsri_opencl_fits_rows(op->in[X], why) && tsri_opencl_fits_rows(op->in[DY], why) &&
           tsri_opencl_fits_rows(tsri_opencl_in(op, ADDEND), why) &&
           tsri_opencl_fits_rows(op->out[0], why) &&
           tsri_opencl_fits_rows(tsri_opencl_out(op, 1), why) &&
           tsri_opencl_fits_vector(op->in[WEIGHT], why) && tsri_opencl_fits_index(op, why);
}

static void define_plain(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    const tsr_norm_attrs *attrs = op->attrs;
    tsri_opencl_define_operand(defines, "W", op->in[WEIGHT]);
    tsri_opencl_define_int(defines, "RMS", attrs->norm == TSR_NORM_RMS);
    tsri_opencl_define_int(defines, "HAS_ADDEND", tsri_opencl_in(op, ADDEND) != NULL);
    tsri_opencl_define_int(defines, "HAS_STATS", tsri_opencl_out(op, 1) != NULL);
}

static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_norm_attrs *attrs = op->attrs;
    const tsr_tensor *x = op->in[X], *addend = tsri_opencl_in(op, ADDEND),
                     *stats = tsri_opencl_out(op, 1);
    for (uint32_t i = X; i <= ADDEND; i++)
        tsri_opencl_arg_tensor(launch, tsri_opencl_in(op, i));
    tsri_opencl_arg_tensor(launch, op->out[0]);
    tsri_opencl_arg_tensor(launch, stats);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, tsri_tensor_rows(x));
    tsri_opencl_arg_int(launch, tsri_tensor_columns(x).factor);
    tsri_opencl_arg_int(launch, tsri_opencl_row_stride(x));
    tsri_opencl_arg_int(launch, tsri_opencl_row_stride(op->in[DY]));
    tsri_opencl_arg_int(launch, tsri_opencl_row_stride(addend));
    tsri_opencl_arg_int(launch, tsri_opencl_row_stride(op->out[0]));
    tsri_opencl_arg_int(launch, tsri_opencl_row_stride(stats));
    tsri_opencl_arg_float(launch, attrs->eps);
}

static void bind_plain(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(op->in[X]), 1);
    tsri_opencl_work(launch, tsri_tensor_const(8 * tsri_tensor_columns(op->in[X]).factor));
}

const tsri_opencl_row tsri_opencl_rows_norm_grad[] = {
    {.name = "plain",
     .op = TSR_OP_NORM_GRAD,
     .file = "norm_grad/plain.cl",
     .plain = true,
     .score = 10,
     .weight_operand = -1,
     .fits = fits_plain,
     .define = define_plain,
     .bind = bind_plain},
    {.name = NULL},
};
