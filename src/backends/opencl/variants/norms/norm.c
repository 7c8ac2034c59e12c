/* backends/opencl/variants/norms/norm.c - layer_norm, rms_norm and add_norm, with one kernel. */
#include "backends/opencl/variants/norms/norm.h"

enum { LANES_ROWS = 4 }; /* for each work-item of norm/lanes.cl */

/* The operands, by their roles. */
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

bool tsri_opencl_norm_fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const operands all = read_operands(op);
    if (!tsri_opencl_is_constant(tsri_tensor_columns(all.x)))
        return tsri_opencl_refuse(why, "the normed dimension is not constant");
    return tsri_opencl_fits_grouped_rows(all.x, why) && tsri_opencl_fits_rows(all.residual, why) &&
           tsri_opencl_fits_rows(all.sum, why) && tsri_opencl_fits_rows(all.y, why) &&
           tsri_opencl_fits_vector(all.weight, why) && tsri_opencl_fits_vector(all.bias, why) &&
           tsri_opencl_fits_index(op, why);
}

bool tsri_opencl_norm_fits_group(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    return tsri_opencl_norm_fits_plain(variant, facts, op, why) &&
           tsri_opencl_fits_group_row(variant, facts, why);
}

bool tsri_opencl_norm_fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    if (!facts->cpu || !facts->vector16)
        return tsri_opencl_refuse(why, "made for CPUs: its sums are vectors");
    return tsri_opencl_norm_fits_plain(variant, facts, op, why);
}

void tsri_opencl_norm_define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines) {
    (void)variant;
    const operands all = read_operands(op);
    tsri_opencl_define_operand(defines, "W", all.weight);
    tsri_opencl_define_operand(defines, "BIAS", all.bias);
    tsri_opencl_define_int(defines, "RMS", all.rms);
    tsri_opencl_define_int(defines, "ADD", all.residual != NULL);
    tsri_opencl_define_int(defines, "HAS_BIAS", all.bias != NULL);
}

/* Whether all rows can be read by fours. */
static bool by_fours(const operands *all, int64_t width) {
    const tsr_tensor *rows[] = {all->x, all->y, all->residual, all->sum};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tsri_tensor_grouped places = tsri_opencl_grouped_rows(rows[i]);
        if (rows[i] && (!tsri_opencl_by_fours(rows[i], width, places.stride) || places.gap % 4))
            return false;
    }
    return all->weight->offset % 4 == 0 && (!all->bias || all->bias->offset % 4 == 0);
}

void tsri_opencl_norm_define_group(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines) {
    tsri_opencl_norm_define_plain(variant, op, defines);
    tsri_opencl_define_group_row(variant, defines);
    enum { MOST_HELD = 4 };
    const operands all = read_operands(op);
    const int64_t width = tsri_tensor_columns(all.x).factor,
                  four = 4 * (int64_t)tsri_opencl_define_value(defines, "GROUP"),
                  held = (width + four - 1) / four;
    tsri_opencl_define_int(defines, "HELD", held <= MOST_HELD && by_fours(&all, width) ? held : 0);
}

static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_norm_attrs *attrs = op->attrs;
    const operands all = read_operands(op);
    const int64_t width = tsri_tensor_columns(all.x).factor;

    tsri_opencl_arg_tensor(launch, "x", all.x);
    if (all.residual) {
        tsri_opencl_arg_tensor(launch, "residual", all.residual);
        tsri_opencl_arg_tensor(launch, "sum", all.sum);
        tsri_opencl_arg_row(launch, "residual", all.residual);
        tsri_opencl_arg_row(launch, "sum", all.sum);
    }
    tsri_opencl_arg_tensor(launch, "weight", all.weight);
    tsri_opencl_arg_tensor(launch, "bias", all.bias);
    tsri_opencl_arg_tensor(launch, "y", all.y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(all.x));
    tsri_opencl_arg_int(launch, "C", width);
    tsri_opencl_arg_grouped_rows(launch, "x", all.x);
    tsri_opencl_arg_row(launch, "y", all.y);
    tsri_opencl_arg_float(launch, "eps", attrs->eps);
}

void tsri_opencl_norm_bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *x = op->in[0];
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(x), 1);
    tsri_opencl_work(launch, tsri_tensor_const(4 * tsri_tensor_columns(x).factor));
}

void tsri_opencl_norm_bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *x = op->in[0];
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(x), LANES_ROWS);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(LANES_ROWS * tsri_tensor_columns(x).factor));
}

void tsri_opencl_norm_bind_group(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch) {
    (void)variant;
    bind_operands(op, launch);
    tsri_opencl_group_row(launch, tsri_tensor_rows(op->in[0]), tsri_tensor_columns(op->in[0]));
}
