/* backends/opencl/variants/reduce/argmax.c - the variants of argmax. */
#include "backends/opencl/variants/reduce/largest.h"

static bool fits_parts(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant;
    return tsri_opencl_largest_fits_parts(facts, op, 1, 8 * TSRI_OPENCL_LARGEST_GROUP, why);
}

static void bind_stage(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_largest_bind_stage(op, "largest", 1, launch);
}

static void bind_parts(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    tsri_opencl_largest_arg_parts(op, "largest", 1, launch);
    tsri_opencl_arg_results(launch, op, 0, 0);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "V", tsri_tensor_columns(op->in[0]));
    tsri_opencl_largest_group(op, 64, launch);
}

static const tsri_opencl_stage each_part = {.name = "each_part",
                                            .file = "argmax/each_part.cl",
                                            .define = tsri_opencl_largest_define_parts,
                                            .bind = bind_stage};

const tsri_opencl_variant tsri_opencl_variants_argmax[] = {
    {.name = "parts",
     .op = TSR_OP_ARGMAX,
     .file = "argmax/parts.cl",
     .before = &each_part,
     .gpu = true,
     .score = 60,
     .weight_operand = -1,
     .fits = fits_parts,
     .define = tsri_opencl_largest_define_parts,
     .bind = bind_parts},
    TSRI_OPENCL_LARGEST_ROWS(TSR_OP_ARGMAX, "argmax")};
