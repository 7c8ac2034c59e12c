/* backends/opencl/variants/shared/elementwise_lanes.c - ops of one and two packed operands, sixteen
 * elements to a vector: elementwise/lanes.cl. */
#include "backends/opencl/variants/shared/elementwise.h"

enum { SPAN = 2048 /* elements for each work-item */ };

/* The constant FORM of the kernel. */
typedef enum form { ONE = 1, SUM, PRODUCT, SLOPE, ACCUMULATE } form;

static form form_of(const tsr_op *op) {
    switch (op->id) {
    case TSR_OP_ADD:
        return SUM;
    case TSR_OP_MUL:
        return PRODUCT;
    case TSR_OP_ACTIVATION_GRAD:
        return SLOPE;
    case TSR_OP_ACCUMULATE:
        return ACCUMULATE;
    default:
        return ONE;
    }
}

/* The operands, by their roles in the kernel. */
typedef struct operands {
    const tsr_tensor *a, *b, *number, *y;
} operands;

static operands read_operands(const tsr_op *op) {
    const form f = form_of(op);
    if (f == ACCUMULATE)
        return (operands){.a = op->in[1], .number = tsri_opencl_in(op, 2), .y = op->in[0]};
    return (operands){.a = op->in[0], .b = f == ONE ? NULL : op->in[1], .y = op->out[0]};
}

bool tsri_opencl_fits_elementwise_lanes(const tsri_opencl_variant *variant,
                                        const tsri_opencl_facts *facts, const tsr_op *op,
                                        const char **why) {
    (void)variant;
    const operands all = read_operands(op);
    if (!tsri_opencl_fits_vectors(facts, why))
        return false;
    if (!tsri_opencl_is_f32(all.a) || !tsri_opencl_is_f32(all.y) ||
        (all.b && !tsri_opencl_is_f32(all.b)))
        return tsri_opencl_refuse(why, "operands are taken as f32 only");
    if (!tsri_opencl_is_flat(all.a, all.y) || (all.b && !tsri_opencl_is_flat(all.b, all.y)))
        return tsri_opencl_refuse(why, "an operand is not contiguous, or is broadcast");
    return tsri_opencl_fits_index(op, why);
}

void tsri_opencl_define_elementwise_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                          tsri_opencl_defines *defines) {
    (void)variant;
    const form f = form_of(op);
    const tsr_activation_attrs *attrs = op->attrs;
    tsri_opencl_define_int(defines, "FORM", f);
    if (f == ONE || f == SLOPE)
        tsri_opencl_define_int(
            defines, "ACT",
            (int)(f == SLOPE ? attrs->activation : tsri_opencl_activation_of((tsr_op_id)op->id)));
    if (f == ONE)
        tsri_opencl_define_int(defines, "SCALED", op->id == TSR_OP_SCALE);
    if (f == ACCUMULATE)
        tsri_opencl_define_int(defines, "HAS_NUMBER", tsri_opencl_in(op, 2) != NULL);
}

void tsri_opencl_bind_elementwise_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                                        tsri_opencl_launch *launch) {
    (void)variant;
    const operands all = read_operands(op);
    const tsr_scale_attrs *scale = op->id == TSR_OP_SCALE ? op->attrs : NULL;
    tsri_opencl_arg_tensor(launch, "a", all.a);
    tsri_opencl_arg_tensor(launch, "b", all.b);
    tsri_opencl_arg_tensor(launch, "number", all.number);
    tsri_opencl_arg_tensor(launch, "y", all.y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(all.y));
    tsri_opencl_arg_float(launch, "alpha", scale ? scale->alpha : 1.0f);
    tsri_opencl_grid(launch, 0, tsri_tensor_count(all.y), SPAN);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(4 * SPAN));
}
