/* backends/opencl/rows/shared/weighted.c - what the variants of linear and glu_linear share: which
 * weights, shapes and numbers of rows fit, and the arguments of all their kernels. */
#include "backends/opencl/rows/shared/weighted.h"

TSRI_OPERANDS(linear); /* glu_linear has the same, but for the residual */

bool tsri_opencl_fits_weighted(const tsr_op *op, const char **why) {
    const tsr_tensor *w = op->in[W];
    if (w->rank != 2 || !tsri_opencl_is_constant(w->dim[0]) || !tsri_opencl_is_constant(w->dim[1]))
        return tsri_opencl_refuse(why, "the weight is not a matrix of constant size");
    return tsri_opencl_fits_rows(op->in[X], why) && tsri_opencl_fits_weight(w, why) &&
           tsri_opencl_fits_vector(tsri_opencl_in(op, BIAS), why) &&
           tsri_opencl_fits_rows(op->out[Y], why) && tsri_opencl_fits_index(op, why);
}

bool tsri_opencl_fits_tiles(const tsri_opencl_facts *facts, const tsr_op *op, bool trans_w,
                            const char **why) {
    if (!facts->cpu)
        return tsri_opencl_refuse(
            why, "made for CPUs: a work-item holds a whole tile in vector registers");
    if (!facts->vector16)
        return tsri_opencl_refuse(why, "the device's compiler does not cope with tiles of float16");
    if (!trans_w)
        return tsri_opencl_refuse(
            why, "reads weights of [outputs, inputs]; this one is [inputs, outputs]");
    if (op->in[W]->offset != 0)
        return tsri_opencl_refuse(why, "the weight is part of another one");
    return true;
}

bool tsri_opencl_fits_panels(const tsri_opencl_facts *facts, const tsr_op *op, bool trans_w,
                             const char **why) {
    return tsri_opencl_fits_tiles(facts, op, trans_w, why) &&
           tsri_opencl_fits_vector(op->in[W], why);
}

bool tsri_opencl_fits_few_rows(const tsr_op *op, int most, const char **why) {
    if (tsri_opencl_highest(op, tsri_tensor_rows(op->in[X])) > most)
        return tsri_opencl_refuse(why, most == 1 ? "made for one row of x; this plan has more"
                                                 : "made for 8 rows of x; this plan has more");
    return true;
}

bool tsri_opencl_fits_few_panels(const tsri_opencl_facts *facts, const tsr_op *op,
                                 const char **why) {
    if (tsri_tensor_columns(op->out[Y]).factor >= 64 * 4 * (int64_t)facts->common.compute_units)
        return tsri_opencl_refuse(
            why, "made for weights with fewer than 4 panels for each compute unit");
    return true;
}

int tsri_opencl_tile_rows(const tsr_op *op) {
    return tsri_opencl_highest(op, tsri_tensor_rows(op->in[X])) <= 1 ? 1 : 4;
}

void tsri_opencl_define_weighted(const tsr_op *op, uint32_t activation,
                                 tsri_opencl_defines *defines) {
    tsri_opencl_define_operand(defines, "W", op->in[W]);
    tsri_opencl_define_operand(defines, "BIAS", tsri_opencl_in(op, BIAS));
    tsri_opencl_define_int(defines, "HAS_BIAS", tsri_opencl_in(op, BIAS) != NULL);
    tsri_opencl_define_int(defines, "ACT", (int)activation);
}

void tsri_opencl_define_plain(const tsr_op *op, bool trans_w, uint32_t compute,
                              tsri_opencl_defines *defines) {
    tsri_opencl_define_int(defines, "TRANS_W", trans_w);
    tsri_opencl_define_int(defines, "INT8", compute == TSR_COMPUTE_INT8);
    tsri_opencl_define_int(defines, "TM", tsri_opencl_tile_rows(op));
}

void tsri_opencl_define_linear(const tsr_op *op, tsri_opencl_defines *defines) {
    const tsr_linear_attrs *attrs = op->attrs;
    tsri_opencl_define_weighted(op, attrs->activation, defines);
    tsri_opencl_define_int(defines, "HAS_RESIDUAL", tsri_opencl_in(op, RESIDUAL) != NULL);
}

void tsri_opencl_bind_linear(const tsr_op *op, tsri_opencl_launch *launch, int tile_m, int tile_n) {
    const tsr_linear_attrs *attrs = op->attrs;
    const tsr_tensor *x = op->in[X], *w = op->in[W], *residual = tsri_opencl_in(op, RESIDUAL),
                     *y = op->out[Y];
    const tsr_dim outputs = w->dim[attrs->trans_w ? 0 : 1], depth = w->dim[attrs->trans_w ? 1 : 0];
    const tsr_dim rows = tsri_tensor_rows(x);

    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", rows);
    tsri_opencl_arg_int(launch, "N", outputs.factor);
    tsri_opencl_arg_int(launch, "K", depth.factor);
    tsri_opencl_arg_row(launch, "x", x);
    tsri_opencl_arg_row(launch, "residual", residual);
    tsri_opencl_arg_row(launch, "y", y);
    tsri_opencl_work(launch, tsri_tensor_const(depth.factor * tile_m * tile_n));
}

void tsri_opencl_bind_glu_linear(const tsr_op *op, tsri_opencl_launch *launch, int tile_m,
                                 int tile_n) {
    const tsr_glu_linear_attrs *attrs = op->attrs;
    const tsr_tensor *x = op->in[X], *w = op->in[W], *y = op->out[Y];
    const int64_t depth = w->dim[attrs->trans_w ? 1 : 0].factor;

    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(x));
    tsri_opencl_arg_int(launch, "F", w->dim[attrs->trans_w ? 0 : 1].factor / 2);
    tsri_opencl_arg_int(launch, "K", depth);
    tsri_opencl_arg_row(launch, "x", x);
    tsri_opencl_arg_row(launch, "y", y);
    tsri_opencl_work(launch, tsri_tensor_const(2 * depth * tile_m * tile_n));
}
