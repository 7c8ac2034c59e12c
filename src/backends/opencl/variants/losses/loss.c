/* backends/opencl/variants/losses/loss.c - what the variants of the losses have in common. */
#include "backends/opencl/variants/losses/loss.h"

TSRI_OPERANDS(cross_entropy);

bool tsri_opencl_loss_fits(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                           const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    if (!tsri_opencl_is_constant(tsri_tensor_columns(op->in[LOGITS])))
        return tsri_opencl_refuse(why, "the number of classes is not constant");
    for (uint32_t i = 0; i < op->n_in + op->n_out; i++) {
        const tsr_tensor *tensor =
            i < op->n_in ? tsri_opencl_in(op, i) : tsri_opencl_out(op, i - op->n_in);
        if (!tensor)
            continue;
        if (tensor->rank == op->in[LOGITS]->rank && !tsri_opencl_fits_rows(tensor, why))
            return false;
        if (tensor->rank != op->in[LOGITS]->rank && !tsri_tensor_is_packed(tensor))
            return tsri_opencl_refuse(why,
                                      "an operand with one element for each row is not contiguous");
    }
    return tsri_opencl_fits_index(op, why);
}

bool tsri_opencl_loss_fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    return tsri_opencl_fits_vectors(facts, why) && tsri_opencl_loss_fits(variant, facts, op, why);
}

bool tsri_opencl_loss_fits_group(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                 const tsr_op *op, const char **why) {
    return tsri_opencl_loss_fits(variant, facts, op, why) &&
           tsri_opencl_fits_group_row(variant, facts, why);
}

void tsri_opencl_loss_define_divergence(const tsri_opencl_variant *variant, const tsr_op *op,
                                        tsri_opencl_defines *defines) {
    if (variant->gpu)
        tsri_opencl_define_group_row(variant, defines);
    tsri_opencl_define_int(defines, "HAS_TARGETS", tsri_opencl_in(op, TARGETS) != NULL);
    tsri_opencl_define_int(defines, "HAS_TEACHER", tsri_opencl_in(op, 2) != NULL);
    if (op->id == TSR_OP_KL_DIVERGENCE_GRAD)
        tsri_opencl_define_int(defines, "HAS_ADDEND", tsri_opencl_in(op, 4) != NULL);
}

void tsri_opencl_loss_define_entropy(const tsri_opencl_variant *variant, const tsr_op *op,
                                     tsri_opencl_defines *defines) {
    if (variant->gpu)
        tsri_opencl_define_group_row(variant, defines);
    const tsr_cross_entropy_attrs *attrs = op->attrs;
    if (op->id == TSR_OP_CROSS_ENTROPY)
        tsri_opencl_define_int(defines, "SMOOTH", attrs->label_smoothing != 0);
    else
        tsri_opencl_define_int(defines, "HAS_ADDEND", tsri_opencl_in(op, 4) != NULL);
}

void tsri_opencl_loss_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_tensor *logits = op->in[LOGITS];
    const bool teacher = op->id == TSR_OP_KL_DIVERGENCE || op->id == TSR_OP_KL_DIVERGENCE_GRAD;
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(logits));
    tsri_opencl_arg_int(launch, "V", tsri_tensor_columns(logits).factor);
    tsri_opencl_arg_int(launch, "row", tsri_opencl_row_stride(logits));
    if (teacher)
        tsri_opencl_arg_row(launch, "teacher", tsri_opencl_in(op, 2));
    if (op->out[0]->rank == logits->rank) {
        tsri_opencl_arg_row(launch, "addend", tsri_opencl_in(op, 4));
        tsri_opencl_arg_row(launch, "d", op->out[0]);
    }
}

void tsri_opencl_loss_group_row(const tsr_op *op, tsri_opencl_launch *launch) {
    tsri_opencl_group_row(launch, tsri_tensor_rows(op->in[LOGITS]),
                          tsri_tensor_columns(op->in[LOGITS]));
}

void tsri_opencl_loss_row_each(const tsr_op *op, int64_t work, tsri_opencl_launch *launch) {
    const tsr_tensor *logits = op->in[LOGITS];
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(logits), 1);
    tsri_opencl_work(launch, tsri_tensor_const(work * tsri_tensor_columns(logits).factor));
}

float tsri_opencl_loss_temperature(const tsr_op *op) {
    const tsr_kl_divergence_attrs *attrs = op->attrs;
    return attrs->temperature != 0 && tsri_opencl_in(op, 2) ? attrs->temperature : 1.0f;
}
