/* backends/opencl/variants/lookup/scatter.c - scatter: the gradient of gather. */
#include "backends/opencl/variants/shared/common.h"

TSRI_OPERANDS(scatter);

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    if (!tsri_tensor_is_packed(op->in[INDEX]))
        return tsri_opencl_refuse(why, "the index is not contiguous; copy it first");
    return tsri_opencl_fits_rows(op->in[DY], why) && tsri_opencl_fits_rows(op->out[DX], why) &&
           tsri_opencl_fits_index(op, why);
}

static bool fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    return tsri_opencl_fits_vectors(facts, why) && fits_plain(variant, facts, op, why);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *dy = op->in[DY], *dx = op->out[DX];
    const tsr_dim N = tsri_tensor_count(op->in[INDEX]);
    tsri_opencl_arg_tensor(launch, "index", op->in[INDEX]);
    tsri_opencl_arg_tensor(launch, "dy", dy);
    tsri_opencl_arg_tensor(launch, "dx", dx);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(dx));
    tsri_opencl_arg_dim(launch, "N", N);
    tsri_opencl_arg_dim(launch, "C", tsri_tensor_columns(dx));
    tsri_opencl_arg_row(launch, "dy", dy);
    tsri_opencl_arg_row(launch, "dx", dx);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(dx), 1);
    tsri_opencl_work(launch, tsri_tensor_const(tsri_opencl_highest(op, N) +
                                               tsri_opencl_highest(op, tsri_tensor_columns(dx))));
}

const tsri_opencl_variant tsri_opencl_variants_scatter[] = {
    {TSRI_OPENCL_LANES(TSR_OP_SCATTER, "scatter", 40, fits_lanes, NULL, bind_plain),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_SCATTER, "scatter", fits_plain, NULL, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
