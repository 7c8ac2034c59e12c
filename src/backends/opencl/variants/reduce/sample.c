/* backends/opencl/variants/reduce/sample.c - the variants of sample. */
#include "backends/opencl/variants/shared/group.h"

TSRI_OPERANDS(sample);

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    for (uint32_t i = 0; i < sample_inputs; i++)
        if (!tsri_tensor_is_packed(op->in[i]))
            return tsri_opencl_refuse(why, "an operand is not contiguous; copy it first");
    if (!tsri_tensor_is_packed(op->out[Y]))
        return tsri_opencl_refuse(why, "the output is not contiguous");
    return tsri_opencl_fits_index(op, why);
}

static bool fits_group(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    const int group = tsri_opencl_variant_tunable(variant, "GROUP");
    if (group & (group - 1))
        return tsri_opencl_refuse(why, "GROUP is a power of two");
    return fits_plain(variant, facts, op, why) &&
           tsri_opencl_fits_group(facts, group, 8 * group + 8, why);
}

static int64_t k_of(const tsr_op *op) {
    return op->in[VALUES]->dim[1].factor;
}

static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind_operands(op, launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_count(op->out[Y]));
    tsri_opencl_arg_int(launch, "k", k_of(op));
    tsri_opencl_grid(launch, 0, tsri_tensor_count(op->out[Y]), 1);
    tsri_opencl_work(launch, tsri_tensor_const(48 * k_of(op)));
}

static void bind_group(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const int group = tsri_opencl_tuned(launch, "GROUP");
    bind_operands(op, launch);
    tsri_opencl_arg_int(launch, "k", k_of(op));
    tsri_opencl_group_rows(launch, tsri_tensor_count(op->out[Y]), group, 48 * k_of(op));
}

const tsri_opencl_variant tsri_opencl_variants_sample[] = {
    {.name = "group",
     .op = TSR_OP_SAMPLE,
     .file = "sample/group.cl",
     .gpu = true,
     .score = 60,
     .tunables = {{"GROUP", 64, 16, 256}},
     .weight_operand = -1,
     .fits = fits_group,
     .bind = bind_group},
    {TSRI_OPENCL_PLAIN(TSR_OP_SAMPLE, "sample", fits_plain, NULL, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
