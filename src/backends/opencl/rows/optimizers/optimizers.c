/* backends/opencl/rows/optimizers/optimizers.c - sumsq, adamw and sgd, over packed states. */
#include "backends/opencl/rows/shared/common.h"

static bool fits_plain(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    (void)row, (void)facts;
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i] && !tsri_tensor_is_packed(op->in[i]))
            return tsri_opencl_refuse(why, "an operand is not contiguous");
    return tsri_opencl_fits_index(op, why);
}

static bool fits_lanes(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    return tsri_opencl_fits_vectors(facts, why) && fits_plain(row, facts, op, why);
}

/* Binds all operands, then the number of elements of `like`. */
static void bind_operands(const tsr_op *op, const tsr_tensor *like, tsri_opencl_launch *launch) {
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(like));
}

static void an_element_each(const tsr_op *op, tsri_opencl_launch *launch) {
    tsri_opencl_grid(launch, 0, tsri_tensor_count(op->in[0]), 1);
    tsri_opencl_work(launch, tsri_tensor_const(16));
}

/* ---- sumsq ---- */

static void bind_sumsq(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_sumsq_attrs *attrs = op->attrs;
    const int64_t run = tsri_opencl_highest(op, tsri_tensor_count(op->in[1])) / attrs->parts + 1;
    bind_operands(op, op->in[1], launch);
    tsri_opencl_arg_int(launch, "first", attrs->first);
    tsri_opencl_arg_int(launch, "parts", attrs->parts);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(attrs->parts), 1);
    tsri_opencl_work(launch, tsri_tensor_const(run));
}

static void bind_sumsq_lanes(const tsri_opencl_row *row, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    bind_sumsq(row, op, launch);
    tsri_opencl_group(launch, 1, 1, 1);
}

/* ---- adamw ---- */

static void define_adamw(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    tsri_opencl_define_int(defines, "HAS_ROUNDED", tsri_opencl_in(op, 5) != NULL);
}

static void bind_adamw_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_adamw_attrs *attrs = op->attrs;
    bind_operands(op, op->in[0], launch);
    tsri_opencl_arg_float(launch, "beta1", attrs->beta1);
    tsri_opencl_arg_float(launch, "rest1", (float)(1 - (double)attrs->beta1));
    tsri_opencl_arg_float(launch, "beta2", attrs->beta2);
    tsri_opencl_arg_float(launch, "rest2", (float)(1 - (double)attrs->beta2));
    tsri_opencl_arg_float(launch, "eps", attrs->eps);
    tsri_opencl_arg_float(launch, "decay", attrs->decay);
}

static void bind_adamw(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    bind_adamw_operands(op, launch);
    an_element_each(op, launch);
}

static void bind_adamw_lanes(const tsri_opencl_row *row, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    enum { SPAN = 2048 };
    (void)row;
    bind_adamw_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_count(op->in[0]), SPAN);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(8 * SPAN));
}

/* ---- sgd ---- */

static void define_sgd(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_defines *defines) {
    (void)row;
    const tsr_sgd_attrs *attrs = op->attrs;
    tsri_opencl_define_int(defines, "HAS_VELOCITY", tsri_opencl_in(op, 1) != NULL);
    tsri_opencl_define_int(defines, "NESTEROV", attrs->nesterov != 0);
    tsri_opencl_define_int(defines, "HAS_ROUNDED", tsri_opencl_in(op, 4) != NULL);
}

static void bind_sgd(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_sgd_attrs *attrs = op->attrs;
    bind_operands(op, op->in[0], launch);
    tsri_opencl_arg_float(launch, "momentum", attrs->momentum);
    tsri_opencl_arg_float(launch, "decay", attrs->decay);
    an_element_each(op, launch);
}

const tsri_opencl_row tsri_opencl_rows_sumsq[] = {
    {TSRI_OPENCL_LANES(TSR_OP_SUMSQ, "sumsq", 50, fits_lanes, NULL, bind_sumsq_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_SUMSQ, "sumsq", fits_plain, NULL, bind_sumsq), .weight_operand = -1},
    {.name = NULL},
};
const tsri_opencl_row tsri_opencl_rows_adamw[] = {
    {TSRI_OPENCL_LANES(TSR_OP_ADAMW, "adamw", 50, fits_lanes, define_adamw, bind_adamw_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_ADAMW, "adamw", fits_plain, define_adamw, bind_adamw),
     .weight_operand = -1},
    {.name = NULL},
};
const tsri_opencl_row tsri_opencl_rows_sgd[] = {
    {TSRI_OPENCL_PLAIN(TSR_OP_SGD, "sgd", fits_plain, define_sgd, bind_sgd), .weight_operand = -1},
    {.name = NULL},
};
