/* backends/opencl/variants/norms/norm_grad.c - the gradients of layer_norm, rms_norm and add_norm with
 * respect to their input. */
#include "backends/opencl/variants/shared/group.h"

TSRI_OPERANDS(norm_grad);
enum { LANES_ROWS = 4 }; /* for each work-item of norm_grad/lanes.cl */

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    if (!tsri_opencl_is_constant(tsri_tensor_columns(op->in[X])))
        return tsri_opencl_refuse(why, "the normed dimension is not constant");
    return tsri_opencl_fits_grouped_rows(op->in[X], why) &&
           tsri_opencl_fits_rows(op->in[DY], why) &&
           tsri_opencl_fits_rows(tsri_opencl_in(op, ADDEND), why) &&
           tsri_opencl_fits_rows(op->out[DX], why) &&
           tsri_opencl_fits_rows(tsri_opencl_out(op, STATS), why) &&
           tsri_opencl_fits_vector(op->in[WEIGHT], why) && tsri_opencl_fits_index(op, why);
}

static bool fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    if (!tsri_opencl_fits_vectors(facts, why))
        return false;
    if (!tsri_opencl_is_f32(op->in[WEIGHT]))
        return tsri_opencl_refuse(why, "weights are taken as f32 only");
    return fits_plain(variant, facts, op, why);
}

static bool fits_group(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    return fits_plain(variant, facts, op, why) && tsri_opencl_fits_group_row(variant, facts, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_norm_attrs *attrs = op->attrs;
    tsri_opencl_define_operand(defines, "W", op->in[WEIGHT]);
    tsri_opencl_define_int(defines, "RMS", attrs->norm == TSR_NORM_RMS);
    tsri_opencl_define_int(defines, "HAS_ADDEND", tsri_opencl_in(op, ADDEND) != NULL);
    tsri_opencl_define_int(defines, "HAS_STATS", tsri_opencl_out(op, STATS) != NULL);
}

static void define_group(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    define_plain(variant, op, defines);
    tsri_opencl_define_group_row(variant, defines);
}

static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_norm_attrs *attrs = op->attrs;
    const tsr_tensor *x = op->in[X], *addend = tsri_opencl_in(op, ADDEND),
                     *stats = tsri_opencl_out(op, STATS);
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(x));
    tsri_opencl_arg_int(launch, "C", tsri_tensor_columns(x).factor);
    tsri_opencl_arg_grouped_rows(launch, "x", x);
    tsri_opencl_arg_row(launch, "dy", op->in[DY]);
    tsri_opencl_arg_row(launch, "addend", addend);
    tsri_opencl_arg_row(launch, "dx", op->out[DX]);
    tsri_opencl_arg_row(launch, "stats", stats);
    tsri_opencl_arg_float(launch, "eps", attrs->eps);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(op->in[X]), 1);
    tsri_opencl_work(launch, tsri_tensor_const(8 * tsri_tensor_columns(op->in[X]).factor));
}

static void bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(op->in[X]), LANES_ROWS);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(LANES_ROWS * tsri_tensor_columns(op->in[X]).factor));
}

static void bind_group(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind_operands(op, launch);
    tsri_opencl_group_row(launch, tsri_tensor_rows(op->in[X]), tsri_tensor_columns(op->in[X]));
}

const tsri_opencl_variant tsri_opencl_variants_norm_grad[] = {
    TSRI_OPENCL_GROUP_VARIANTS(TSR_OP_NORM_GRAD, "norm_grad/group.cl", fits_group, define_group,
                               bind_group),
    {TSRI_OPENCL_LANES(TSR_OP_NORM_GRAD, "norm_grad", 40, fits_lanes, define_plain, bind_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_NORM_GRAD, "norm_grad", fits_plain, define_plain, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
