/* backends/opencl/variants/elements/glu.c - glu, and what its gradient's variants share with it. */
#include "backends/opencl/variants/elements/glu.h"

bool tsri_opencl_glu_fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!tsri_opencl_fits_rows(op->in[i], why))
            return false;
    return tsri_opencl_fits_rows(op->out[0], why) && tsri_opencl_fits_index(op, why);
}

void tsri_opencl_glu_define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                  tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_gates(defines, op->attrs);
}

static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_tensor *x = op->in[0];
    const int64_t half = tsri_tensor_columns(x).factor / 2;
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(x));
    tsri_opencl_arg_int(launch, "F", half);
    tsri_opencl_arg_row(launch, "x", x);
    if (op->id == TSR_OP_GLU)
        tsri_opencl_arg_row(launch, "y", op->out[0]);
    else {
        tsri_opencl_arg_row(launch, "dy", op->in[1]);
        tsri_opencl_arg_row(launch, "dx", op->out[0]);
    }
}

void tsri_opencl_glu_bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *x = op->in[0];
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(tsri_tensor_columns(x).factor / 2), 1);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(x), 1);
    tsri_opencl_work(launch, tsri_tensor_const(32));
}

bool tsri_opencl_glu_fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const tsr_op *op, const char **why) {
    return tsri_opencl_fits_vectors(facts, why) &&
           tsri_opencl_glu_fits_plain(variant, facts, op, why);
}

void tsri_opencl_glu_bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                tsri_opencl_launch *launch) {
    enum { SPAN = 1024 };
    (void)variant;
    const tsr_tensor *x = op->in[0];
    const int64_t half = tsri_tensor_columns(x).factor / 2;
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(half), SPAN);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(x), 1);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(8 * (half < SPAN ? half : SPAN)));
}

const tsri_opencl_variant tsri_opencl_variants_glu[] = {TSRI_OPENCL_GLU_TABLE(TSR_OP_GLU, glu)};
