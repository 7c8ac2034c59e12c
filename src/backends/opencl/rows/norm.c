/* layer_norm, rms_norm and add_norm: one kernel. */
#include "backends/opencl/rows/common.h"

/* The operands by what they are for. */
typedef struct operands {
    const tsr_tensor *x, *residual, *weight, *bias, *sum, *y;
    bool rms;
} operands;

static operands read_operands(const tsr_op *op) {
    const tsr_norm_attrs *attrs = op->attrs;
    if (op->id == TSR_OP_ADD_NORM)
        return (operands){.x = op->in[0],
                          .residual = op->in[1],
                          .weight = op->in[2],
                          .bias = tsri_opencl_in(op, 3),
                          .sum = op->out[0],
                          .y = op->out[1],
                          .rms = attrs->norm == TSR_NORM_RMS};
    return (operands){.x = op->in[0],
                      .weight = op->in[1],
                      .bias = op->id == TSR_OP_LAYER_NORM ? tsri_opencl_in(op, 2) : NULL,
                      .y = op->out[0],
                      .rms = op->id == TSR_OP_RMS_NORM};
}

static bool fits_plain(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    (void)row, (void)facts;
    const operands all = read_operands(op);
    if (!tsri_opencl_is_constant(tsri_tensor_columns(all.x)))
        return tsri_opencl_refuse(why, "the normed dimension is not constant");
    return tsri_opencl_fits_rows(all.x, why) && tsri_opencl_fits_rows(all.residual, why) &&
           tsri_opencl_fits_rows(all.sum, why) && tsri_opencl_fits_rows(all.y, why) &&
           tsri_opencl_fits_vector(all.weight, why) && tsri_opencl_fits_vector(all.bias, why) &&
           tsri_opencl_fits_index(op, why);
}

static void define_plain(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    const operands all = read_operands(op);
    tsri_opencl_define_operand(defines, "W", all.weight);
    tsri_opencl_define_operand(defines, "BIAS", all.bias);
    tsri_opencl_define_int(defines, "RMS", all.rms);
    tsri_opencl_define_int(defines, "ADD", all.residual != NULL);
    tsri_opencl_define_int(defines, "HAS_BIAS", all.bias != NULL);
}

static void bind_plain(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_norm_attrs *attrs = op->attrs;
    const operands all = read_operands(op);
    const int64_t width = tsri_tensor_columns(all.x).factor;

    tsri_opencl_arg_tensor(launch, all.x);
    if (all.residual) {
        tsri_opencl_arg_tensor(launch, all.residual);
        tsri_opencl_arg_tensor(launch, all.sum);
        tsri_opencl_arg_int(launch, tsri_opencl_row_stride(all.residual));
        tsri_opencl_arg_int(launch, tsri_opencl_row_stride(all.sum));
    }
    tsri_opencl_arg_tensor(launch, all.weight);
    tsri_opencl_arg_tensor(launch, all.bias);
    tsri_opencl_arg_tensor(launch, all.y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, tsri_tensor_rows(all.x));
    tsri_opencl_arg_int(launch, width);
    tsri_opencl_arg_int(launch, tsri_opencl_row_stride(all.x));
    tsri_opencl_arg_int(launch, tsri_opencl_row_stride(all.y));
    tsri_opencl_arg_float(launch, attrs->eps);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(all.x), 1);
    tsri_opencl_work(launch, tsri_tensor_const(4 * width));
}

#define PLAIN(id)             \
    {.name = "plain",         \
     .op = id,                \
     .file = "norm/plain.cl", \
     .plain = true,           \
     .score = 10,             \
     .weight_operand = -1,    \
     .fits = fits_plain,      \
     .define = define_plain,  \
     .bind = bind_plain},     \
    {                         \
        .name = NULL          \
    }

const tsri_opencl_row tsri_opencl_rows_add_norm[] = {PLAIN(TSR_OP_ADD_NORM)};
const tsri_opencl_row tsri_opencl_rows_layer_norm[] = {PLAIN(TSR_OP_LAYER_NORM)};
const tsri_opencl_row tsri_opencl_rows_rms_norm[] = {PLAIN(TSR_OP_RMS_NORM)};
