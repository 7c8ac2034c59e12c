/* backends/opencl/rows/losses/losses.c - cross_entropy, kl_divergence and their gradients. */
#include "backends/opencl/rows/shared/group.h"

TSRI_OPERANDS(cross_entropy);

static bool fits_plain(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    (void)row, (void)facts;
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

static bool fits_lanes(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    return tsri_opencl_fits_vectors(facts, why) && fits_plain(row, facts, op, why);
}

static bool fits_group(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    return fits_plain(row, facts, op, why) && tsri_opencl_fits_group_row(row, facts, why);
}

static void define_divergence(const tsri_opencl_row *row, const tsr_op *op,
                              tsri_opencl_defines *defines) {
    (void)row;
    tsri_opencl_define_int(defines, "HAS_TARGETS", tsri_opencl_in(op, TARGETS) != NULL);
    tsri_opencl_define_int(defines, "HAS_TEACHER", tsri_opencl_in(op, 2) != NULL);
    if (op->id == TSR_OP_KL_DIVERGENCE_GRAD)
        tsri_opencl_define_int(defines, "HAS_ADDEND", tsri_opencl_in(op, 4) != NULL);
}

static void define_entropy(const tsri_opencl_row *row, const tsr_op *op,
                           tsri_opencl_defines *defines) {
    (void)row;
    const tsr_cross_entropy_attrs *attrs = op->attrs;
    if (op->id == TSR_OP_CROSS_ENTROPY)
        tsri_opencl_define_int(defines, "SMOOTH", attrs->label_smoothing != 0);
    else
        tsri_opencl_define_int(defines, "HAS_ADDEND", tsri_opencl_in(op, 4) != NULL);
}

static void define_entropy_group(const tsri_opencl_row *row, const tsr_op *op,
                                 tsri_opencl_defines *defines) {
    define_entropy(row, op, defines);
    tsri_opencl_define_group_row(row, defines);
}

/* Binds the operands and results, then R and V, then the row strides of the logits, of a teacher
 * and of a gradient. */
static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
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

static void a_row_each(const tsr_op *op, int64_t work, tsri_opencl_launch *launch) {
    const tsr_tensor *logits = op->in[LOGITS];
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(logits), 1);
    tsri_opencl_work(launch, tsri_tensor_const(work * tsri_tensor_columns(logits).factor));
}

static void bind_cross_entropy(const tsri_opencl_row *row, const tsr_op *op,
                               tsri_opencl_launch *launch) {
    (void)row;
    const tsr_cross_entropy_attrs *attrs = op->attrs;
    bind_operands(op, launch);
    tsri_opencl_arg_float(launch, "smoothing", attrs->label_smoothing);
    a_row_each(op, 16, launch);
}

static void bind_cross_entropy_group(const tsri_opencl_row *row, const tsr_op *op,
                                     tsri_opencl_launch *launch) {
    (void)row;
    const tsr_tensor *logits = op->in[LOGITS];
    const tsr_cross_entropy_attrs *attrs = op->attrs;
    bind_operands(op, launch);
    tsri_opencl_arg_float(launch, "smoothing", attrs->label_smoothing);
    tsri_opencl_group_row(launch, tsri_tensor_rows(logits), tsri_tensor_columns(logits));
}

static void bind_cross_entropy_grad(const tsri_opencl_row *row, const tsr_op *op,
                                    tsri_opencl_launch *launch) {
    (void)row;
    const tsr_cross_entropy_attrs *attrs = op->attrs;
    bind_operands(op, launch);
    tsri_opencl_arg_float(launch, "smoothing", attrs->label_smoothing);
    tsri_opencl_grid(launch, 0, tsri_tensor_columns(op->in[LOGITS]), 1);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(op->in[LOGITS]), 1);
    tsri_opencl_work(launch, tsri_tensor_const(16));
}

static void bind_cross_entropy_lanes(const tsri_opencl_row *row, const tsr_op *op,
                                     tsri_opencl_launch *launch) {
    bind_cross_entropy(row, op, launch);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(2 * tsri_tensor_columns(op->in[LOGITS]).factor));
}

static void bind_cross_entropy_grad_lanes(const tsri_opencl_row *row, const tsr_op *op,
                                          tsri_opencl_launch *launch) {
    enum { SPAN = 8192 };
    (void)row;
    const tsr_cross_entropy_attrs *attrs = op->attrs;
    const tsr_tensor *logits = op->in[LOGITS];
    const int64_t V = tsri_tensor_columns(logits).factor;
    bind_operands(op, launch);
    tsri_opencl_arg_float(launch, "smoothing", attrs->label_smoothing);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(V), SPAN);
    tsri_opencl_grid(launch, 1, tsri_tensor_rows(logits), 1);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(2 * (V < SPAN ? V : SPAN)));
}

/* Without a teacher the temperature is 1. */
static float temperature(const tsr_op *op) {
    const tsr_kl_divergence_attrs *attrs = op->attrs;
    return attrs->temperature != 0 && tsri_opencl_in(op, 2) ? attrs->temperature : 1.0f;
}

static void bind_kl_divergence(const tsri_opencl_row *row, const tsr_op *op,
                               tsri_opencl_launch *launch) {
    (void)row;
    bind_operands(op, launch);
    tsri_opencl_arg_float(launch, "temperature", temperature(op));
    a_row_each(op, 48, launch);
}

static void bind_kl_divergence_grad(const tsri_opencl_row *row, const tsr_op *op,
                                    tsri_opencl_launch *launch) {
    (void)row;
    bind_operands(op, launch);
    tsri_opencl_arg_float(launch, "temperature", temperature(op));
    a_row_each(op, 48, launch);
}

static void bind_kl_divergence_lanes(const tsri_opencl_row *row, const tsr_op *op,
                                     tsri_opencl_launch *launch) {
    bind_kl_divergence(row, op, launch);
    tsri_opencl_group(launch, 1, 1, 1);
    a_row_each(op, 4, launch);
}

static void bind_kl_divergence_grad_lanes(const tsri_opencl_row *row, const tsr_op *op,
                                          tsri_opencl_launch *launch) {
    bind_kl_divergence_grad(row, op, launch);
    tsri_opencl_group(launch, 1, 1, 1);
    a_row_each(op, 4, launch);
}

const tsri_opencl_row tsri_opencl_rows_cross_entropy[] = {
    TSRI_OPENCL_GROUP_ROWS(TSR_OP_CROSS_ENTROPY, "cross_entropy/group.cl", fits_group,
                           define_entropy_group, bind_cross_entropy_group),
    {TSRI_OPENCL_LANES(TSR_OP_CROSS_ENTROPY, "cross_entropy", 50, fits_lanes, define_entropy,
                       bind_cross_entropy_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_CROSS_ENTROPY, "cross_entropy", fits_plain, define_entropy,
                       bind_cross_entropy),
     .weight_operand = -1},
    {.name = NULL},
};
const tsri_opencl_row tsri_opencl_rows_cross_entropy_grad[] = {
    {TSRI_OPENCL_LANES(TSR_OP_CROSS_ENTROPY_GRAD, "cross_entropy_grad", 50, fits_lanes,
                       define_entropy, bind_cross_entropy_grad_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_CROSS_ENTROPY_GRAD, "cross_entropy_grad", fits_plain, define_entropy,
                       bind_cross_entropy_grad),
     .weight_operand = -1},
    {.name = NULL},
};
const tsri_opencl_row tsri_opencl_rows_kl_divergence[] = {
    {TSRI_OPENCL_LANES(TSR_OP_KL_DIVERGENCE, "kl_divergence", 50, fits_lanes, define_divergence,
                       bind_kl_divergence_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_KL_DIVERGENCE, "kl_divergence", fits_plain, define_divergence,
                       bind_kl_divergence),
     .weight_operand = -1},
    {.name = NULL},
};
const tsri_opencl_row tsri_opencl_rows_kl_divergence_grad[] = {
    {TSRI_OPENCL_LANES(TSR_OP_KL_DIVERGENCE_GRAD, "kl_divergence_grad", 50, fits_lanes,
                       define_divergence, bind_kl_divergence_grad_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_KL_DIVERGENCE_GRAD, "kl_divergence_grad", fits_plain,
                       define_divergence, bind_kl_divergence_grad),
     .weight_operand = -1},
    {.name = NULL},
};
