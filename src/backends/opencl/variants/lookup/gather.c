/* backends/opencl/variants/lookup/gather.c - gather: the rows that an index names. */
#include "backends/opencl/variants/shared/common.h"

TSRI_OPERANDS(gather);

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *x = op->in[X], *index = op->in[INDEX], *y = op->out[Y];
    int64_t stride;
    if (!tsri_opencl_is_float(x) && x->dtype != TSR_I32)
        return tsri_opencl_refuse(why, "rows are taken as f32, f16, bf16 or i32 only");
    if (!tsri_tensor_collapses(x, &stride) || !tsri_tensor_collapses(y, &stride))
        return tsri_opencl_refuse(why,
                                  "the rows of an operand are not evenly spaced; copy it first");
    if (!tsri_tensor_is_packed(index))
        return tsri_opencl_refuse(why, "the index is not contiguous; copy it first");
    if (x->layout)
        return tsri_opencl_refuse(why, "x is a weight in a layout of its own");
    return tsri_opencl_fits_index(op, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_operand(defines, "X", op->in[X]);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *x = op->in[X], *index = op->in[INDEX], *y = op->out[Y];

    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(x));
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(index));
    tsri_opencl_arg_dim(launch, "C", tsri_tensor_columns(x));
    tsri_opencl_arg_row(launch, "x", x);
    tsri_opencl_arg_row(launch, "y", y);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(x), 1);
    tsri_opencl_grid(launch, 1, tsri_tensor_count(index), 1);
}

const tsri_opencl_variant tsri_opencl_variants_gather[] = {
    {TSRI_OPENCL_PLAIN(TSR_OP_GATHER, "gather", fits_plain, define_plain, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
