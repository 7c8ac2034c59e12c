/* backends/opencl/variants/attention/distance_scores.c - the kernel variants of distance_scores. */
#include "backends/opencl/variants/shared/common.h"

TSRI_OPERANDS(distance_scores);

static bool fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                 const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *by_query = op->in[BY_QUERY], *by_key = op->in[BY_KEY];
    if (!tsri_opencl_last_contiguous(by_query) || !tsri_opencl_last_contiguous(by_key) ||
        !tsri_opencl_is_constant(by_query->dim[1]) || !tsri_opencl_is_constant(by_query->dim[3]))
        return tsri_opencl_refuse(why, "the places of a row are not contiguous");
    if (!tsri_tensor_is_packed(op->in[PLACE]) || !tsri_tensor_is_packed(op->out[Y]))
        return tsri_opencl_refuse(why, "places or results are not contiguous; copy them first");
    return tsri_opencl_fits_index(op, why);
}

static void bind(const tsri_opencl_variant *variant, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *by_query = op->in[BY_QUERY], *by_key = op->in[BY_KEY];
    const int64_t H = by_query->dim[1].factor;
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "B", by_query->dim[0]);
    tsri_opencl_arg_dim(launch, "T", by_query->dim[2]);
    tsri_opencl_arg_dim(launch, "S", by_key->dim[2]);
    tsri_opencl_arg_int(launch, "H", H);
    tsri_opencl_arg_int(launch, "P", by_query->dim[3].factor);
    tsri_opencl_arg_int(launch, "R", op->in[PLACE]->dim[0].factor / 2);
    tsri_opencl_arg_leading_strides(launch, "q", "bht", by_query);
    tsri_opencl_arg_leading_strides(launch, "k", "bhs", by_key);
    tsri_opencl_grid(launch, 0, by_key->dim[2], 1);
    tsri_opencl_grid(launch, 1, by_query->dim[2], 1);
    tsri_opencl_grid(launch, 2, tsri_tensor_times(by_query->dim[0], by_query->dim[1]), 1);
    tsri_opencl_work(launch, tsri_tensor_const(1));
}

const tsri_opencl_variant tsri_opencl_variants_distance_scores[] = {
    {TSRI_OPENCL_PLAIN(TSR_OP_DISTANCE_SCORES, "distance_scores", fits, NULL, bind),
     .weight_operand = -1},
    {.name = NULL},
};
