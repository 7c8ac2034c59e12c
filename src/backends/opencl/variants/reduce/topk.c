/* backends/opencl/variants/reduce/topk.c - the variants of topk. */
#include "backends/opencl/variants/reduce/largest.h"

enum {
    GROUP = TSRI_OPENCL_LARGEST_GROUP,
    PART = GROUP * TSRI_OPENCL_LARGEST_EACH,
    MOST_KEPT = 256 /* runs of a quarter of a part */
};

static uint32_t k_of(const tsr_op *op) {
    return ((const tsr_topk_attrs *)op->attrs)->k;
}

/* How many are kept of each part. */
static int kept(const tsr_op *op) {
    int power = 1;
    while (power < MOST_KEPT && power < (int)k_of(op))
        power *= 2;
    return power;
}

static bool fits_parts(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant;
    if (k_of(op) > MOST_KEPT)
        return tsri_opencl_refuse(why, "made for k up to 256");
    return tsri_opencl_largest_fits_parts(facts, op, kept(op) + 1, 8 * PART + 4 * GROUP, why);
}

static void bind_stage(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_largest_bind_stage(op, "best", kept(op) + 1, launch);
    tsri_opencl_arg_int(launch, "kept", kept(op));
}

static void bind_parts(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *x = op->in[0];
    tsri_opencl_arg_inputs(launch, op, 0, 0);
    tsri_opencl_largest_arg_parts(op, "best", kept(op) + 1, launch);
    tsri_opencl_arg_results(launch, op, 0, 2);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "V", tsri_tensor_columns(x));
    tsri_opencl_arg_int(launch, "k", k_of(op));
    tsri_opencl_arg_row(launch, "x", x);
    tsri_opencl_arg_int(launch, "kept", kept(op));
    tsri_opencl_largest_group(op, tsri_opencl_highest(op, tsri_tensor_columns(x)), launch);
}

static const tsri_opencl_stage each_part = {.name = "each_part",
                                            .file = "topk/each_part.cl",
                                            .define = tsri_opencl_largest_define_parts,
                                            .bind = bind_stage};

const tsri_opencl_variant tsri_opencl_variants_topk[] = {
    {.name = "parts",
     .op = TSR_OP_TOPK,
     .file = "topk/parts.cl",
     .before = &each_part,
     .gpu = true,
     .score = 60,
     .weight_operand = -1,
     .fits = fits_parts,
     .define = tsri_opencl_largest_define_parts,
     .bind = bind_parts},
    TSRI_OPENCL_LARGEST_ROWS(TSR_OP_TOPK, "topk")};
