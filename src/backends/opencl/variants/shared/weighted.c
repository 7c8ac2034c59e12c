/* backends/opencl/variants/shared/weighted.c - what the variants of linear and glu_linear share: which
 * weights, shapes and numbers of rows fit, the constants and the arguments of their kernels. What it says
 * of weights serves those of experts, too. */
#include "backends/opencl/variants/shared/weighted.h"

#include <stddef.h>

TSRI_OPERANDS(linear); /* glu_linear has the same, but for the residual */
enum { GATED_NORM = RESIDUAL, PANEL = 64, PANELS_SHARED = 4 };

_Static_assert(sizeof(tsr_linear_attrs) <= sizeof(tsr_glu_linear_attrs) &&
                   offsetof(tsr_linear_attrs, whole) == offsetof(tsr_glu_linear_attrs, whole),
               "glu_linear has the attributes of linear, and more after them");

bool tsri_opencl_is_gated(const tsr_op *op) {
    return op->id == TSR_OP_GLU_LINEAR || op->id == TSR_OP_EXPERT_GLU_LINEAR;
}

const tsr_linear_attrs *tsri_opencl_weighted_attrs(const tsr_op *op) {
    return op->attrs;
}

static bool trans_w(const tsr_op *op) {
    return tsri_opencl_weighted_attrs(op)->trans_w != 0;
}

int64_t tsri_opencl_weight_depth(const tsr_op *op) {
    const tsr_tensor *w = op->in[W];
    return w->dim[w->rank - (trans_w(op) ? 1 : 2)].factor;
}

int64_t tsri_opencl_weight_outputs(const tsr_op *op) {
    const tsr_tensor *w = op->in[W];
    return w->dim[w->rank - (trans_w(op) ? 2 : 1)].factor;
}

const tsr_tensor *tsri_opencl_norm_of(const tsr_op *op) {
    return op->id == TSR_OP_LINEAR       ? tsri_opencl_in(op, NORM)
           : op->id == TSR_OP_GLU_LINEAR ? tsri_opencl_in(op, GATED_NORM)
                                         : NULL;
}

/* glu_linear has no residual. */
static const tsr_tensor *residual_of(const tsr_op *op) {
    return tsri_opencl_is_gated(op) ? NULL : tsri_opencl_in(op, RESIDUAL);
}

/* --- fits --- */

bool tsri_opencl_fits_product(const tsr_op *op, const char **why) {
    const tsr_tensor *w = op->in[W];
    if (w->rank != 2 || !tsri_opencl_is_constant(w->dim[0]) || !tsri_opencl_is_constant(w->dim[1]))
        return tsri_opencl_refuse(why, "the weight is not a matrix of constant size");
    return tsri_opencl_fits_rows(op->in[X], why) && tsri_opencl_fits_weight(w, why) &&
           tsri_opencl_fits_vector(tsri_opencl_in(op, BIAS), why) &&
           tsri_opencl_fits_rows(op->out[Y], why) && tsri_opencl_fits_index(op, why) &&
           tsri_opencl_fits_rows(residual_of(op), why);
}

bool tsri_opencl_fits_weighted(const tsr_op *op, const char **why) {
    if (tsri_opencl_norm_of(op))
        return tsri_opencl_refuse(why, "takes x as it is; this op has a norm of it");
    return tsri_opencl_fits_product(op, why);
}

bool tsri_opencl_fits_tiles(const tsri_opencl_facts *facts, const tsr_op *op, const char **why) {
    if (!facts->cpu)
        return tsri_opencl_refuse(
            why, "made for CPUs: a work-item holds a whole tile in vector registers");
    if (!facts->vector16)
        return tsri_opencl_refuse(why, "the device's compiler does not cope with tiles of float16");
    if (!trans_w(op))
        return tsri_opencl_refuse(
            why, "reads weights of [outputs, inputs]; this one is [inputs, outputs]");
    if (op->in[W]->offset != 0)
        return tsri_opencl_refuse(why, "the weight is part of another one");
    return true;
}

bool tsri_opencl_fits_halves(const tsr_op *op, const char **why) {
    return !tsri_opencl_is_gated(op) || tsri_tensor_columns(op->out[Y]).factor % 64 == 0 ||
           tsri_opencl_refuse(why, "needs a feed-forward width that is a multiple of 64");
}

bool tsri_opencl_fits_few_rows(const tsr_op *op, int most, const char **why) {
    if (tsri_opencl_highest(op, tsri_tensor_rows(op->in[X])) > most)
        return tsri_opencl_refuse(why, most == 1 ? "made for one row of x; this plan has more"
                                       : most == 2
                                           ? "made for one or two rows of x; this plan has more"
                                           : "made for 8 rows of x; this plan has more");
    return true;
}

bool tsri_opencl_fits_weighted_plain(const tsri_opencl_variant *variant,
                                     const tsri_opencl_facts *facts, const tsr_op *op,
                                     const char **why) {
    (void)variant, (void)facts;
    return tsri_opencl_fits_weighted(op, why);
}

bool tsri_opencl_fits_packed(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why) {
    (void)variant;
    return tsri_opencl_fits_halves(op, why) && tsri_opencl_fits_tiles(facts, op, why) &&
           tsri_opencl_fits_vector(op->in[W], why) && tsri_opencl_fits_weighted(op, why);
}

bool tsri_opencl_fits_packed_one(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    return tsri_opencl_fits_few_rows(op, 1, why) &&
           tsri_opencl_fits_packed(variant, facts, op, why);
}

bool tsri_opencl_fits_packed_split(const tsri_opencl_variant *variant,
                                   const tsri_opencl_facts *facts, const tsr_op *op,
                                   const char **why) {
    if (tsri_tensor_columns(op->out[Y]).factor >= 64 * 4 * (int64_t)facts->common.compute_units)
        return tsri_opencl_refuse(
            why, "made for weights with fewer than 4 panels for each compute unit");
    return tsri_opencl_fits_packed_one(variant, facts, op, why);
}

bool tsri_opencl_fits_packed_few(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    return tsri_opencl_fits_few_rows(op, TSRI_OPENCL_FEW_ROWS, why) &&
           tsri_opencl_fits_packed(variant, facts, op, why);
}

/* --- define --- */

void tsri_opencl_define_activation(const tsr_op *op, tsri_opencl_defines *defines) {
    if (tsri_opencl_is_gated(op))
        tsri_opencl_define_product_gates(defines, op->attrs);
    else
        tsri_opencl_define_int(defines, "ACT", (int)tsri_opencl_weighted_attrs(op)->activation);
}

void tsri_opencl_define_epilogue(const tsr_op *op, tsri_opencl_defines *defines) {
    tsri_opencl_define_operand(defines, "BIAS", tsri_opencl_in(op, BIAS));
    tsri_opencl_define_int(defines, "HAS_BIAS", tsri_opencl_in(op, BIAS) != NULL);
    tsri_opencl_define_activation(op, defines);
    if (!tsri_opencl_is_gated(op))
        tsri_opencl_define_int(defines, "HAS_RESIDUAL", residual_of(op) != NULL);
}

void tsri_opencl_define_weighted(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_operand(defines, "W", op->in[W]);
    tsri_opencl_define_epilogue(op, defines);
}

int tsri_opencl_built_rows(const tsr_op *op) {
    const int64_t rows = tsri_opencl_highest(op, tsri_tensor_rows(op->in[X]));
    return rows <= 1 ? 1 : rows <= 2 ? 2 : rows <= 4 ? 4 : TSRI_OPENCL_FEW_ROWS;
}

/* The rows of x that a work-item of a plain kernel takes. */
static int tile_rows(const tsr_op *op) {
    return tsri_opencl_highest(op, tsri_tensor_rows(op->in[X])) <= 1 ? 1 : 4;
}

void tsri_opencl_define_weighted_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                       tsri_opencl_defines *defines) {
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_int(defines, "TRANS_W", trans_w(op));
    tsri_opencl_define_int(defines, "INT8",
                           tsri_opencl_weighted_attrs(op)->compute == TSR_COMPUTE_INT8);
    tsri_opencl_define_int(defines, "TM", tile_rows(op));
}

/* --- bind --- */

void tsri_opencl_arg_from_weight(const tsr_op *op, tsri_opencl_launch *launch) {
    tsri_opencl_arg_inputs(launch, op, W, tsri_opencl_is_gated(op) ? BIAS : RESIDUAL);
    tsri_opencl_arg_tensor(launch, "y", op->out[Y]);
}

void tsri_opencl_bind_weighted(const tsr_op *op, tsri_opencl_launch *launch, int tile_m,
                               int tile_n) {
    const bool gated = tsri_opencl_is_gated(op);
    const int64_t depth = tsri_opencl_weight_depth(op);
    tsri_opencl_arg_tensor(launch, "x", op->in[X]);
    tsri_opencl_arg_from_weight(op, launch);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(op->in[X]));
    tsri_opencl_arg_int(launch, gated ? "F" : "N", tsri_tensor_columns(op->out[Y]).factor);
    tsri_opencl_arg_int(launch, "K", depth);
    tsri_opencl_arg_row(launch, "x", op->in[X]);
    if (!gated)
        tsri_opencl_arg_row(launch, "residual", residual_of(op));
    tsri_opencl_arg_row(launch, "y", op->out[Y]);
    tsri_opencl_work(launch, tsri_tensor_const((gated ? 2 : 1) * depth * tile_m * tile_n));
}

void tsri_opencl_bind_panels(const tsr_op *op, tsri_opencl_launch *launch, int rows, int columns) {
    tsri_opencl_bind_weighted(op, launch, rows, columns);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(op->out[Y]), rows);
    tsri_opencl_grid(launch, 1, tsri_tensor_columns(op->out[Y]), columns);
    tsri_opencl_group(launch, 1, 1, 1);
}

void tsri_opencl_bind_panels_one(const tsr_op *op, tsri_opencl_launch *launch, int columns) {
    tsri_opencl_bind_weighted(op, launch, 1, columns);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(op->out[Y]), columns);
    tsri_opencl_group(launch, 1, 1, 1);
}

/* With few panels, each is a work-item of its own, so that every core has some. */
void tsri_opencl_bind_panels_shared(const tsr_op *op, tsri_opencl_launch *launch) {
    const int64_t panels = tsri_tensor_columns(op->out[Y]).factor / PANEL;
    const int shared = panels >= 64 * PANELS_SHARED ? PANELS_SHARED : panels >= 64 ? 2 : 1;
    tsri_opencl_bind_panels_one(op, launch, PANEL * shared);
    tsri_opencl_arg_int(launch, "P", shared);
}

void tsri_opencl_bind_stage_rows(const tsr_op *op, tsri_opencl_launch *launch, tsr_dim bytes,
                                 int rows) {
    const tsr_tensor *x = op->in[X];
    tsri_opencl_arg_tensor(launch, "x", x);
    tsri_opencl_arg_scratch(launch, "scratch", bytes);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(x));
    tsri_opencl_arg_int(launch, "K", tsri_opencl_weight_depth(op));
    tsri_opencl_arg_row(launch, "x", x);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(x), rows);
    tsri_opencl_group(launch, 1, 1, 1);
}

void tsri_opencl_bind_weighted_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                     tsri_opencl_launch *launch) {
    (void)variant;
    const int tn = tsri_opencl_tuned(launch, "TN"), tm = tile_rows(op);
    tsri_opencl_bind_weighted(op, launch, tm, tn);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(op->out[Y]), tn);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(op->out[Y]), tm);
}

void tsri_opencl_bind_packed_few(const tsri_opencl_variant *variant, const tsr_op *op,
                                 tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_bind_panels(op, launch, TSRI_OPENCL_FEW_ROWS, 64);
}
