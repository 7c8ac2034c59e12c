/* backends/opencl/variants/shared/normed.c - the norm of x in linear and glu_linear, on GPUs. */
#include "backends/opencl/variants/shared/normed.h"
#include "backends/opencl/variants/shared/group.h"

TSRI_OPERANDS(linear); /* glu_linear has the same, but for the residual */

enum {
    LANES = 256,       /* sums of a row: cl/weighted/norm.clh */
    GROUP = 64,        /* work-items of the stage for a row, */
    MOST_LOCAL = 16384 /* and more local memory than the tiled variants have by default */
};

static bool has_norm(const tsr_op *op) {
    return tsri_opencl_norm_of(op) != NULL;
}

bool tsri_opencl_fits_normed(const tsri_opencl_facts *facts, const tsr_op *op, const char **why) {
    const tsr_tensor *norm = tsri_opencl_norm_of(op), *x = op->in[X];
    if (!tsri_opencl_fits_product(op, why))
        return false;
    if (!norm)
        return true;
    if (!tsri_opencl_is_f32(norm) || norm->offset % 4 ||
        !tsri_opencl_by_fours(x, tsri_opencl_weight_depth(op), tsri_opencl_row_stride(x)))
        return tsri_opencl_refuse(why, "norms x by fours; its rows begin elsewhere");
    return tsri_opencl_fits_vector(norm, why) &&
           tsri_opencl_fits_group(facts, GROUP, MOST_LOCAL, why);
}

bool tsri_opencl_fits_norm_group(const tsr_op *op, int64_t items, const char **why) {
    return !has_norm(op) || (items <= LANES && !(items & (items - 1))) ||
           tsri_opencl_refuse(why, "norms x by a work-group of a power of two, 256 at most");
}

void tsri_opencl_define_normed(const tsr_op *op, tsri_opencl_defines *defines) {
    tsri_opencl_define_int(defines, "NORM", has_norm(op));
}

void tsri_opencl_arg_norm(const tsr_op *op, tsri_opencl_launch *launch) {
    if (!has_norm(op))
        return;
    tsri_opencl_arg_tensor(launch, "norm", tsri_opencl_norm_of(op));
    tsri_opencl_arg_float(launch, "eps", tsri_opencl_weighted_attrs(op)->norm_eps);
}

tsr_dim tsri_opencl_normed_bytes(const tsr_op *op) {
    return tsri_tensor_times(
        tsri_tensor_rows(op->in[X]),
        tsri_tensor_const((int64_t)sizeof(float) * tsri_opencl_weight_depth(op)));
}

/* --- the stage --- */

static void define_norm_rows(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_int(defines, "ROW_GROUP", GROUP);
    tsri_opencl_define_normed(op, defines);
}

static void bind_norm_rows(const tsri_opencl_variant *variant, const tsr_op *op,
                           tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *x = op->in[X];
    const int64_t depth = tsri_opencl_weight_depth(op);
    tsri_opencl_arg_tensor(launch, "x", x);
    tsri_opencl_arg_scratch(launch, "normed", tsri_opencl_normed_bytes(op));
    tsri_opencl_arg_int(launch, "K", depth);
    tsri_opencl_arg_row(launch, "x", x);
    tsri_opencl_arg_norm(op, launch);
    tsri_opencl_group_rows(launch, tsri_tensor_rows(x), GROUP, 2 * depth);
}

const tsri_opencl_stage tsri_opencl_stage_norm_rows = {.name = "norm_rows",
                                                       .file = "weighted/norm_rows.cl",
                                                       .needed = has_norm,
                                                       .define = define_norm_rows,
                                                       .bind = bind_norm_rows};
