/* backends/opencl/variants/elements/plain.c - the plain variants of elementwise ops. */
#include "backends/opencl/variants/elements/plain.h"

static bool is_known(const tsr_tensor *tensor) {
    return tsri_opencl_is_float(tensor) || tensor->dtype == TSR_I32;
}

void tsri_opencl_element_each(tsri_opencl_launch *launch, const tsr_tensor *y) {
    tsri_opencl_grid(launch, 0, tsri_tensor_count(y), 1);
    tsri_opencl_work(launch, tsri_tensor_const(8));
}

bool tsri_opencl_fits_binary(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    if (!tsri_opencl_is_float(op->in[0]) || !tsri_opencl_is_float(op->in[1]) ||
        !tsri_opencl_is_float(op->out[0]))
        return tsri_opencl_refuse(why, "operands are taken as f32, f16 or bf16 only");
    return tsri_opencl_fits_index(op, why);
}

static bool is_flat_binary(const tsr_op *op) {
    return tsri_opencl_is_flat(op->in[0], op->out[0]) && tsri_opencl_is_flat(op->in[1], op->out[0]);
}

void tsri_opencl_define_binary(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_operand(defines, "A", op->in[0]);
    tsri_opencl_define_operand(defines, "B", op->in[1]);
    tsri_opencl_define_operand(defines, "Y", op->out[0]);
    tsri_opencl_define_int(defines, "MULTIPLY", op->id == TSR_OP_MUL);
    tsri_opencl_define_int(defines, "FLAT", is_flat_binary(op));
}

void tsri_opencl_bind_binary(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *y = op->out[0];
    const tsr_tensor a = tsri_opencl_broadcast(op->in[0], y),
                     b = tsri_opencl_broadcast(op->in[1], y);
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(y));
    if (!is_flat_binary(op)) {
        tsri_opencl_arg_sizes(launch, y);
        tsri_opencl_arg_strides(launch, "a", &a);
        tsri_opencl_arg_strides(launch, "b", &b);
        tsri_opencl_arg_strides(launch, "y", y);
    }
    tsri_opencl_element_each(launch, y);
}

static bool is_move(const tsr_op *op) {
    return (op->id == TSR_OP_COPY || op->id == TSR_OP_CAST) &&
           op->in[0]->dtype == op->out[0]->dtype;
}

bool tsri_opencl_fits_unary(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                            const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *x = op->in[0], *y = op->out[0];
    const bool unpacks = op->id == TSR_OP_CAST && tsri_opencl_is_kv(x);
    if ((!is_known(x) && !unpacks) || !is_known(y))
        return tsri_opencl_refuse(why, "operands are taken as f32, f16, bf16 or i32 only");
    if (op->id != TSR_OP_COPY && op->id != TSR_OP_CAST &&
        !(tsri_opencl_is_float(x) && tsri_opencl_is_float(y)))
        return tsri_opencl_refuse(why, "operands are taken as f32, f16 or bf16 only");
    if (x->layout)
        return tsri_opencl_refuse(why, "x is a weight in a layout of its own");
    return tsri_opencl_fits_index(op, why);
}

void tsri_opencl_define_unary(const tsri_opencl_variant *variant, const tsr_op *op,
                              tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_operand(defines, "X", op->in[0]);
    tsri_opencl_define_operand(defines, "Y", op->out[0]);
    tsri_opencl_define_int(defines, "ACT", (int)tsri_opencl_activation_of((tsr_op_id)op->id));
    tsri_opencl_define_int(defines, "MOVE", is_move(op));
    tsri_opencl_define_int(defines, "SCALE", op->id == TSR_OP_SCALE);
    tsri_opencl_define_int(defines, "FLAT", tsri_opencl_is_flat(op->in[0], op->out[0]));
}

void tsri_opencl_bind_unary(const tsri_opencl_variant *variant, const tsr_op *op,
                            tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *x = op->in[0], *y = op->out[0];
    const tsr_scale_attrs *scale = op->id == TSR_OP_SCALE ? op->attrs : NULL;
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(y));
    tsri_opencl_arg_float(launch, "alpha", scale ? scale->alpha : 1.0f);
    if (!tsri_opencl_is_flat(x, y)) {
        tsri_opencl_arg_sizes(launch, y);
        tsri_opencl_arg_strides(launch, "x", x);
        tsri_opencl_arg_strides(launch, "y", y);
    }
    tsri_opencl_element_each(launch, y);
}

bool tsri_opencl_fits_f32_elements(const tsri_opencl_variant *variant,
                                   const tsri_opencl_facts *facts, const tsr_op *op,
                                   const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *y = tsri_opencl_out(op, 0);
    if (!tsri_opencl_is_f32(op->in[0]) || (y && !tsri_opencl_is_f32(y)))
        return tsri_opencl_refuse(why, "operands are taken as f32 only");
    return tsri_opencl_fits_index(op, why);
}
