/* backends/opencl/variants/shared/tiled.c - linear and glu_linear with work-groups that share local
 * memory: variants made for GPUs. */
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/normed.h"
#include "backends/opencl/variants/shared/weighted.h"
#include "tensor/quantize.h"

TSRI_OPERANDS(linear); /* glu_linear has the same, but for the residual */

enum { SKINNY = 8 }; /* rows of x for each work-group of a skinny variant: decode, small batches */

bool tsri_opencl_fits_tiled(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                            const tsr_op *op, const char **why) {
    if (tsri_opencl_weighted_attrs(op)->compute == TSR_COMPUTE_INT8)
        return tsri_opencl_refuse(why, "its products are of floats; this op asks for int8");
    return tsri_opencl_fits_normed(facts, op, why) && tsri_opencl_fits_tile(variant, facts, why);
}

bool tsri_opencl_fits_tiled_64(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why) {
    return tsri_opencl_fits_small_tile(facts, tsri_opencl_highest(op, tsri_tensor_rows(op->in[X])),
                                       tsri_opencl_weight_outputs(op), 1, why) &&
           tsri_opencl_fits_tiled(variant, facts, op, why);
}

bool tsri_opencl_fits_skinny(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why) {
    if (tsri_opencl_highest(op, tsri_tensor_rows(op->in[X])) > SKINNY)
        return tsri_opencl_refuse(why, "made for up to 8 rows of x; this plan has more");
    return tsri_opencl_fits_tiled(variant, facts, op, why);
}

void tsri_opencl_define_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_defines *defines) {
    const bool transposed = tsri_opencl_weighted_attrs(op)->trans_w != 0;
    const tsr_tensor *x = op->in[X], *w = op->in[W];
    /* The outputs of glu_linear are read in two halves. */
    const int64_t along =
        transposed ? tsri_opencl_weight_depth(op) : tsri_tensor_columns(op->out[Y]).factor;
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_normed(op, defines);
    tsri_opencl_define_int(defines, "TRANS_W", transposed);
    tsri_opencl_define_int(
        defines, "FOUR_X",
        tsri_opencl_by_fours(x, tsri_opencl_weight_depth(op), tsri_opencl_row_stride(x)));
    tsri_opencl_define_int(defines, "FOUR_W", tsri_opencl_by_fours(w, along, along));
}

/* `staged`: x is what the stage left. */
static void arg_tiled(tsri_opencl_launch *launch, const tsr_op *op, bool staged) {
    const bool gated = tsri_opencl_is_gated(op);
    const tsr_tensor *x = op->in[X], *y = op->out[Y];
    const int64_t depth = tsri_opencl_weight_depth(op);
    if (staged) {
        tsri_opencl_arg_scratch(launch, "x", tsri_opencl_normed_bytes(op));
        tsri_opencl_arg_int(launch, "x0", 0);
    } else {
        tsri_opencl_arg_tensor(launch, "x", x);
    }
    tsri_opencl_arg_from_weight(op, launch);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(x));
    tsri_opencl_arg_int(launch, gated ? "F" : "N", tsri_tensor_columns(y).factor);
    tsri_opencl_arg_int(launch, "depth", depth);
    tsri_opencl_arg_int(launch, "x_row", staged ? depth : tsri_opencl_row_stride(x));
    if (!gated)
        tsri_opencl_arg_row(launch, "residual", tsri_opencl_in(op, RESIDUAL));
    tsri_opencl_arg_row(launch, "y", y);
}

void tsri_opencl_arg_tiled(tsri_opencl_launch *launch, const tsr_op *op) {
    arg_tiled(launch, op, tsri_opencl_norm_of(op) != NULL);
}

void tsri_opencl_arg_few(tsri_opencl_launch *launch, const tsr_op *op) {
    arg_tiled(launch, op, false);
    tsri_opencl_arg_norm(op, launch);
}

void tsri_opencl_bind_tiled(const tsri_opencl_variant *variant, const tsr_op *op,
                            tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_arg_tiled(launch, op);
    tsri_opencl_group_tile(launch, tsri_tensor_rows(op->in[X]),
                           tsri_tensor_const(tsri_opencl_weight_outputs(op)),
                           tsri_tensor_const(tsri_opencl_weight_depth(op)));
}

/* --- products in half precision --- */

bool tsri_opencl_fits_tiled_half(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    if (!facts->extension_fp16)
        return tsri_opencl_refuse(
            why, "needs cl_khr_fp16, which the device does not have; it computes in f32");
    if (tsri_opencl_weighted_attrs(op)->compute != TSR_COMPUTE_F16)
        return tsri_opencl_refuse(why, "its products are of halves; this op asks for others");
    return tsri_opencl_fits_tiled(variant, facts, op, why);
}

bool tsri_opencl_fits_skinny_half(const tsri_opencl_variant *variant,
                                  const tsri_opencl_facts *facts, const tsr_op *op,
                                  const char **why) {
    return tsri_opencl_fits_tiled_half(variant, facts, op, why) &&
           tsri_opencl_fits_skinny(variant, facts, op, why);
}

void tsri_opencl_define_tiled_half(const tsri_opencl_variant *variant, const tsr_op *op,
                                   tsri_opencl_defines *defines) {
    tsri_opencl_define_tiled(variant, op, defines);
    tsri_opencl_define_int(defines, "HALF", 8);
}
