/* backends/opencl/variants/reduce/largest.c - what the variants of argmax and topk have in common. */
#include "backends/opencl/variants/reduce/largest.h"

bool tsri_opencl_largest_fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                              const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    int64_t stride;
    if (!tsri_opencl_is_float(op->in[0]))
        return tsri_opencl_refuse(why, "x is taken as f32, f16 or bf16 only");
    if (!tsri_tensor_collapses(op->in[0], &stride))
        return tsri_opencl_refuse(why, "the rows of x are not evenly spaced; copy it first");
    for (uint32_t i = 0; i < op->n_out; i++)
        if (op->out[i] && !tsri_tensor_is_packed(op->out[i]))
            return tsri_opencl_refuse(why, "an output is not contiguous");
    return tsri_opencl_fits_index(op, why);
}

bool tsri_opencl_largest_fits_lanes(const tsri_opencl_variant *variant,
                                    const tsri_opencl_facts *facts, const tsr_op *op,
                                    const char **why) {
    if (!facts->cpu || !facts->vector16)
        return tsri_opencl_refuse(why, "made for CPUs: its vectors have 16 elements");
    if (!tsri_opencl_is_f32(op->in[0]))
        return tsri_opencl_refuse(why, "x is taken as f32 only");
    return tsri_opencl_largest_fits(variant, facts, op, why);
}

enum {
    GROUP = TSRI_OPENCL_LARGEST_GROUP,
    EACH = TSRI_OPENCL_LARGEST_EACH,
    FEWEST = 64 /* elements of a row */
};

/* The parts of all rows, at the plan's largest sizes. */
static int64_t parts_of(const tsr_op *op) {
    const int64_t rows = tsri_opencl_highest(op, tsri_tensor_rows(op->in[0])),
                  columns = tsri_opencl_highest(op, tsri_tensor_columns(op->in[0]));
    return rows * ((columns + GROUP * EACH - 1) / (GROUP * EACH));
}

bool tsri_opencl_largest_fits_parts(const tsri_opencl_facts *facts, const tsr_op *op, int64_t words,
                                    int64_t bytes, const char **why) {
    if (tsri_opencl_highest(op, tsri_tensor_columns(op->in[0])) < FEWEST)
        return tsri_opencl_refuse(why, "made for rows of 64 elements and more");
    if (parts_of(op) * words > INT32_MAX)
        return tsri_opencl_refuse(why, "an index into its scratch would not fit int");
    return tsri_opencl_largest_fits(NULL, facts, op, why) &&
           tsri_opencl_fits_group(facts, GROUP, bytes, why);
}

void tsri_opencl_largest_define(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_operand(defines, "X", op->in[0]);
    if (op->id == TSR_OP_TOPK)
        tsri_opencl_define_int(defines, "HAS_LSE", tsri_opencl_out(op, 2) != NULL);
}

void tsri_opencl_largest_define_parts(const tsri_opencl_variant *variant, const tsr_op *op,
                                      tsri_opencl_defines *defines) {
    tsri_opencl_largest_define(variant, op, defines);
    tsri_opencl_define_int(defines, "GROUP", GROUP);
    tsri_opencl_define_int(defines, "EACH", EACH);
}

void tsri_opencl_largest_bind(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *x = op->in[0];

    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(x));
    tsri_opencl_arg_dim(launch, "V", tsri_tensor_columns(x));
    if (op->id == TSR_OP_TOPK)
        tsri_opencl_arg_int(launch, "k", ((const tsr_topk_attrs *)op->attrs)->k);
    tsri_opencl_arg_row(launch, "x", x);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(x), 1);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_times(tsri_tensor_columns(x), tsri_tensor_const(8)));
}

void tsri_opencl_largest_arg_parts(const tsr_op *op, const char *name, int64_t words,
                                   tsri_opencl_launch *launch) {
    tsri_opencl_arg_scratch(launch, name, tsri_tensor_const(parts_of(op) * words * 8));
}

void tsri_opencl_largest_bind_stage(const tsr_op *op, const char *name, int64_t words,
                                    tsri_opencl_launch *launch) {
    const tsr_tensor *x = op->in[0];
    tsri_opencl_arg_inputs(launch, op, 0, 0);
    tsri_opencl_largest_arg_parts(op, name, words, launch);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "V", tsri_tensor_columns(x));
    tsri_opencl_arg_row(launch, "x", x);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(x), EACH);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(x), 1);
    tsri_opencl_group(launch, GROUP, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(EACH * 8));
}

void tsri_opencl_largest_group(const tsr_op *op, int64_t work, tsri_opencl_launch *launch) {
    tsri_opencl_grid(launch, 0, tsri_tensor_const(GROUP), 1);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(op->in[0]), 1);
    tsri_opencl_group(launch, GROUP, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(work));
}
