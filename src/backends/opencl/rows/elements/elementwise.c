/* backends/opencl/rows/elements/elementwise.c - add and mul; scale, cast, copy and the activations,
 * with one kernel for two operands and one for one; the activations' gradients; accumulate;
 * dropout. */
#include "backends/opencl/rows/shared/elementwise.h"

#include <math.h>

static bool is_known(const tsr_tensor *tensor) {
    return tsri_opencl_is_float(tensor) || tensor->dtype == TSR_I32;
}

static void grid(tsri_opencl_launch *launch, const tsr_tensor *y) {
    tsri_opencl_grid(launch, 0, tsri_tensor_count(y), 1);
    tsri_opencl_work(launch, tsri_tensor_const(8));
}

/* ---- two operands ---- */

static bool fits_binary(const tsri_opencl_row *row, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    (void)row, (void)facts;
    if (!tsri_opencl_is_float(op->in[0]) || !tsri_opencl_is_float(op->in[1]) ||
        !tsri_opencl_is_float(op->out[0]))
        return tsri_opencl_refuse(why, "operands are taken as f32, f16 or bf16 only");
    return tsri_opencl_fits_index(op, why);
}

static bool is_flat_binary(const tsr_op *op) {
    return tsri_opencl_is_flat(op->in[0], op->out[0]) && tsri_opencl_is_flat(op->in[1], op->out[0]);
}

static void define_binary(const tsri_opencl_row *row, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    (void)row;
    tsri_opencl_define_operand(defines, "A", op->in[0]);
    tsri_opencl_define_operand(defines, "B", op->in[1]);
    tsri_opencl_define_operand(defines, "Y", op->out[0]);
    tsri_opencl_define_int(defines, "MULTIPLY", op->id == TSR_OP_MUL);
    tsri_opencl_define_int(defines, "FLAT", is_flat_binary(op));
}

static void bind_binary(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
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
    grid(launch, y);
}

/* ---- one operand ---- */

static bool is_move(const tsr_op *op) {
    return (op->id == TSR_OP_COPY || op->id == TSR_OP_CAST) &&
           op->in[0]->dtype == op->out[0]->dtype;
}

static bool fits_unary(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    (void)row, (void)facts;
    const tsr_tensor *x = op->in[0], *y = op->out[0];
    if (!is_known(x) || !is_known(y))
        return tsri_opencl_refuse(why, "operands are taken as f32, f16, bf16 or i32 only");
    if (op->id != TSR_OP_COPY && op->id != TSR_OP_CAST &&
        !(tsri_opencl_is_float(x) && tsri_opencl_is_float(y)))
        return tsri_opencl_refuse(why, "operands are taken as f32, f16 or bf16 only");
    if (x->layout)
        return tsri_opencl_refuse(why, "x is a weight in a layout of its own");
    return tsri_opencl_fits_index(op, why);
}

static void define_unary(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    tsri_opencl_define_operand(defines, "X", op->in[0]);
    tsri_opencl_define_operand(defines, "Y", op->out[0]);
    tsri_opencl_define_int(defines, "ACT", (int)tsri_opencl_activation_of((tsr_op_id)op->id));
    tsri_opencl_define_int(defines, "MOVE", is_move(op));
    tsri_opencl_define_int(defines, "SCALE", op->id == TSR_OP_SCALE);
    tsri_opencl_define_int(defines, "FLAT", tsri_opencl_is_flat(op->in[0], op->out[0]));
}

static void bind_unary(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
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
    grid(launch, y);
}

/* ---- gradients of activations ---- */

static bool fits_f32(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                     const char **why) {
    (void)row, (void)facts;
    const tsr_tensor *y = tsri_opencl_out(op, 0);
    if (!tsri_opencl_is_f32(op->in[0]) || (y && !tsri_opencl_is_f32(y)))
        return tsri_opencl_refuse(why, "operands are taken as f32 only");
    return tsri_opencl_fits_index(op, why);
}

static bool is_flat_grad(const tsr_op *op) {
    return tsri_opencl_is_flat(op->in[0], op->out[0]) && tsri_opencl_is_flat(op->in[1], op->out[0]);
}

static void define_activation_grad(const tsri_opencl_row *row, const tsr_op *op,
                                   tsri_opencl_defines *defines) {
    (void)row;
    const tsr_activation_attrs *attrs = op->attrs;
    tsri_opencl_define_int(defines, "ACT", (int)attrs->activation);
    tsri_opencl_define_int(defines, "FLAT", is_flat_grad(op));
}

static void bind_activation_grad(const tsri_opencl_row *row, const tsr_op *op,
                                 tsri_opencl_launch *launch) {
    (void)row;
    const tsr_tensor *dx = op->out[0];
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(dx));
    if (!is_flat_grad(op)) {
        tsri_opencl_arg_sizes(launch, dx);
        tsri_opencl_arg_strides(launch, "x", op->in[0]);
        tsri_opencl_arg_strides(launch, "dy", op->in[1]);
        tsri_opencl_arg_strides(launch, "dx", dx);
    }
    grid(launch, dx);
}

/* ---- accumulate ---- */

static void define_accumulate(const tsri_opencl_row *row, const tsr_op *op,
                              tsri_opencl_defines *defines) {
    (void)row;
    tsri_opencl_define_int(defines, "HAS_BETA", tsri_opencl_in(op, 2) != NULL);
    tsri_opencl_define_int(defines, "FLAT", tsri_opencl_is_flat(op->in[0], op->in[1]));
}

static void bind_accumulate(const tsri_opencl_row *row, const tsr_op *op,
                            tsri_opencl_launch *launch) {
    (void)row;
    const tsr_tensor *state = op->in[0];
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(state));
    if (!tsri_opencl_is_flat(state, op->in[1])) {
        tsri_opencl_arg_sizes(launch, state);
        tsri_opencl_arg_strides(launch, "x", op->in[1]);
    }
    grid(launch, state);
}

/* ---- dropout ---- */

static void define_dropout(const tsri_opencl_row *row, const tsr_op *op,
                           tsri_opencl_defines *defines) {
    (void)row;
    tsri_opencl_define_int(defines, "FLAT", tsri_opencl_is_flat(op->in[0], op->out[0]));
}

static void bind_dropout_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_dropout_attrs *attrs = op->attrs;
    const tsr_tensor *y = op->out[0];
    const uint32_t threshold = (uint32_t)ceil((double)attrs->rate * 0x1p32);
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(y));
    tsri_opencl_arg_int(launch, "site", (int32_t)attrs->site);
    tsri_opencl_arg_int(launch, "threshold", (int32_t)threshold);
    tsri_opencl_arg_float(launch, "scale", (float)(1 / (1 - (double)attrs->rate)));
}

static void bind_dropout(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_tensor *x = op->in[0], *y = op->out[0];
    bind_dropout_operands(op, launch);
    if (!tsri_opencl_is_flat(x, y)) {
        tsri_opencl_arg_sizes(launch, y);
        tsri_opencl_arg_strides(launch, "x", x);
        tsri_opencl_arg_strides(launch, "y", y);
    }
    tsri_opencl_grid(launch, 0, tsri_tensor_count(y), 4);
    tsri_opencl_work(launch, tsri_tensor_const(64));
}

static bool fits_dropout_lanes(const tsri_opencl_row *row, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why) {
    if (!tsri_opencl_fits_vectors(facts, why) || !fits_f32(row, facts, op, why))
        return false;
    return tsri_opencl_is_flat(op->in[0], op->out[0]) ||
           tsri_opencl_refuse(why, "x is not contiguous");
}

static void bind_dropout_lanes(const tsri_opencl_row *row, const tsr_op *op,
                               tsri_opencl_launch *launch) {
    enum { SPAN = 2048 };
    (void)row;
    bind_dropout_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_count(op->out[0]), SPAN);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(8 * SPAN));
}

#define PLAIN(id, kind)                  \
    {.name = "plain",                    \
     .op = id,                           \
     .file = "elementwise/" #kind ".cl", \
     .plain = true,                      \
     .score = 10,                        \
     .weight_operand = -1,               \
     .fits = fits_##kind,                \
     .define = define_##kind,            \
     .bind = bind_##kind},               \
    {                                    \
        .name = NULL                     \
    }

const tsri_opencl_row tsri_opencl_rows_add[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_ADD),
                                                PLAIN(TSR_OP_ADD, binary)};
const tsri_opencl_row tsri_opencl_rows_mul[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_MUL),
                                                PLAIN(TSR_OP_MUL, binary)};
const tsri_opencl_row tsri_opencl_rows_scale[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_SCALE),
                                                  PLAIN(TSR_OP_SCALE, unary)};
const tsri_opencl_row tsri_opencl_rows_cast[] = {PLAIN(TSR_OP_CAST, unary)};
const tsri_opencl_row tsri_opencl_rows_copy[] = {PLAIN(TSR_OP_COPY, unary)};
const tsri_opencl_row tsri_opencl_rows_relu[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_RELU),
                                                 PLAIN(TSR_OP_RELU, unary)};
const tsri_opencl_row tsri_opencl_rows_gelu[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_GELU),
                                                 PLAIN(TSR_OP_GELU, unary)};
const tsri_opencl_row tsri_opencl_rows_gelu_tanh[] = {
    TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_GELU_TANH), PLAIN(TSR_OP_GELU_TANH, unary)};
const tsri_opencl_row tsri_opencl_rows_silu[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_SILU),
                                                 PLAIN(TSR_OP_SILU, unary)};
const tsri_opencl_row tsri_opencl_rows_tanh[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_TANH),
                                                 PLAIN(TSR_OP_TANH, unary)};
const tsri_opencl_row tsri_opencl_rows_sigmoid[] = {TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_SIGMOID),
                                                    PLAIN(TSR_OP_SIGMOID, unary)};

#define PLAIN_F32(id, name_)                                                                       \
    {TSRI_OPENCL_PLAIN(id, #name_, fits_f32, define_##name_, bind_##name_), .weight_operand = -1}, \
    {                                                                                              \
        .name = NULL                                                                               \
    }

const tsri_opencl_row tsri_opencl_rows_activation_grad[] = {
    TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_ACTIVATION_GRAD),
    PLAIN_F32(TSR_OP_ACTIVATION_GRAD, activation_grad)};
const tsri_opencl_row tsri_opencl_rows_accumulate[] = {
    TSRI_OPENCL_ELEMENTWISE_LANES(TSR_OP_ACCUMULATE), PLAIN_F32(TSR_OP_ACCUMULATE, accumulate)};
const tsri_opencl_row tsri_opencl_rows_dropout[] = {
    {TSRI_OPENCL_LANES(TSR_OP_DROPOUT, "dropout", 50, fits_dropout_lanes, NULL, bind_dropout_lanes),
     .weight_operand = -1},
    PLAIN_F32(TSR_OP_DROPOUT, dropout)};
