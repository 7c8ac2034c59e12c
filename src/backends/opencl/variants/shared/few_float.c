/* backends/opencl/variants/shared/few_float.c - linear and glu_linear for GPUs, for a few rows of x and
 * weights of f32, f16, bf16 or wide blocks. */
#include "backends/opencl/variants/shared/group.h"
#include "backends/opencl/variants/shared/normed.h"
#include "backends/opencl/variants/shared/weighted.h"
#include "tensor/quantize.h"

TSRI_OPERANDS(linear); /* glu_linear has the same, but for the residual */

/* Elements of a piece of the weight, which is 16 bytes in local memory. */
static int each(const tsr_op *op) {
    return op->in[W]->dtype == TSR_F32 ? 4 : 8;
}

/* Bytes of local memory of a piece for each part. */
static int piece_bytes(const tsr_op *op, int outputs, int parts) {
    return 2 * parts * 16 * (outputs + 1 + tsri_opencl_built_rows(op) * each(op) / 4);
}

/* The pieces that each part reads in a step. */
static int steps(int depth, int kib, int piece) {
    const int most = (kib << 10) / piece;
    return most < depth ? most : depth;
}

bool tsri_opencl_fits_few_float(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const tsr_op *op, const char **why) {
    const int outputs = tsri_opencl_variant_tunable(variant, "OUTPUTS"),
              parts = tsri_opencl_variant_tunable(variant, "PARTS"),
              piece = piece_bytes(op, outputs, parts),
              many = steps(tsri_opencl_variant_tunable(variant, "DEPTH"),
                           tsri_opencl_variant_tunable(variant, "KIB"), piece);
    const tsr_linear_attrs *attrs = tsri_opencl_weighted_attrs(op);
    const tsr_tensor *x = op->in[X], *w = op->in[W];
    const int64_t depth = tsri_opencl_weight_depth(op);
    if (attrs->compute == TSR_COMPUTE_INT8)
        return tsri_opencl_refuse(why, "its products are of floats; this op asks for int8");
    if (!attrs->trans_w)
        return tsri_opencl_refuse(
            why, "reads weights of [outputs, inputs]; this one is [inputs, outputs]");
    if (!tsri_opencl_fits_few_rows(op, TSRI_OPENCL_FEW_ROWS, why) ||
        !tsri_opencl_fits_normed(facts, op, why) ||
        !tsri_opencl_fits_norm_group(op, outputs * parts, why))
        return false;
    if (tsri_tensor_is_small_blocks((tsr_dtype)w->dtype))
        return tsri_opencl_refuse(why, "reads no weights of q8_0, q4_0 or mxfp4 blocks");
    if (depth % each(op) || w->offset % (tsri_opencl_is_float(w) ? each(op) : INT64_MAX))
        return tsri_opencl_refuse(why, "reads 16 bytes of w at once; its rows begin elsewhere");
    if (!tsri_opencl_by_fours(x, depth, tsri_opencl_row_stride(x)))
        return tsri_opencl_refuse(why, "reads x by fours; its rows begin elsewhere");
    if (outputs % 2 || many < 1)
        return tsri_opencl_refuse(why, "OUTPUTS is even, and a step of DEPTH 1 takes at most KIB");
    return tsri_opencl_fits_group(facts, outputs * parts, many * piece, why);
}

void tsri_opencl_define_few_float(const tsri_opencl_variant *variant, const tsr_op *op,
                                  tsri_opencl_defines *defines) {
    const int outputs = tsri_opencl_define_value(defines, "OUTPUTS"),
              piece = piece_bytes(op, outputs, tsri_opencl_define_value(defines, "PARTS"));
    tsri_opencl_define_weighted(variant, op, defines);
    tsri_opencl_define_normed(op, defines);
    tsri_opencl_define_int(defines, "ROWS", tsri_opencl_built_rows(op));
    tsri_opencl_define_int(defines, "STEPS",
                           steps(tsri_opencl_define_value(defines, "DEPTH"),
                                 tsri_opencl_define_value(defines, "KIB"), piece));
}

void tsri_opencl_bind_few_float(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_launch *launch) {
    (void)variant;
    const int gates = tsri_opencl_is_gated(op) ? 2 : 1,
              share = tsri_opencl_tuned(launch, "OUTPUTS") / gates,
              items = share * gates * tsri_opencl_tuned(launch, "PARTS");
    const int64_t outputs = tsri_tensor_columns(op->out[Y]).factor;
    tsri_opencl_arg_few(launch, op);
    tsri_opencl_grid(launch, 0, tsri_tensor_const((outputs + share - 1) / share * items), 1);
    tsri_opencl_group(launch, items, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(gates * tsri_opencl_weight_depth(op)));
}
