/* backends/opencl/variants/recurrent/gru_cell_grad.c - the gradients of gru_cell: the gates of all
 * steps at once in a stage, then step by step. */
#include "backends/opencl/variants/shared/common.h"

TSRI_OPERANDS(gru_cell_grad);
enum { LARGEST_STATE = 2048, SEQUENCES = 8 /* for each work-item of rows.cl */ };

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *rows[] = {op->in[GATES_X], op->in[Y], op->in[DY], tsri_opencl_in(op, STATE)};
    for (int i = 0; i < 4; i++) {
        if (rows[i] && !tsri_opencl_is_f32(rows[i]))
            return tsri_opencl_refuse(why, "activations are taken as f32 only");
        if (rows[i] && !tsri_opencl_last_contiguous(rows[i]))
            return tsri_opencl_refuse(why, "the elements of a state are not contiguous");
    }
    for (uint32_t i = DGATES_X; i <= DSTATE; i++)
        if (tsri_opencl_out(op, i) && !tsri_tensor_is_packed(op->out[i]))
            return tsri_opencl_refuse(why, "a result is not a packed array");
    return tsri_opencl_fits_vector(op->in[W], why) && tsri_opencl_fits_vector(op->in[BIAS], why) &&
           tsri_opencl_fits_index(op, why);
}

static bool fits_rows(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                      const tsr_op *op, const char **why) {
    if (!tsri_opencl_fits_vectors(facts, why))
        return false;
    if (op->in[W]->dim[1].factor % 16 || op->in[W]->dim[1].factor > LARGEST_STATE)
        return tsri_opencl_refuse(why, "the size of the state is not a multiple of 16 up to 2048");
    return fits_plain(variant, facts, op, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_gru_cell_attrs *attrs = op->attrs;
    tsri_opencl_define_operand(defines, "W", op->in[W]);
    tsri_opencl_define_operand(defines, "BIAS", op->in[BIAS]);
    tsri_opencl_define_int(defines, "REVERSE", attrs->reverse != 0);
    tsri_opencl_define_int(defines, "HAS_STATE", tsri_opencl_in(op, STATE) != NULL);
    tsri_opencl_define_int(defines, "HAS_DSTATE", tsri_opencl_out(op, DSTATE) != NULL);
    tsri_opencl_define_int(defines, "HAS_LEN", tsri_opencl_in(op, LEN) != NULL);
}

static void define_rows(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_defines *defines) {
    define_plain(variant, op, defines);
    tsri_opencl_define_int(defines, "STATE_SIZE", (int)op->in[W]->dim[1].factor);
}

/* Binds the arguments of names.clh. */
static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_tensor *gates = op->in[GATES_X];
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "B", gates->dim[0]);
    tsri_opencl_arg_dim(launch, "T", gates->dim[1]);
    tsri_opencl_arg_int(launch, "E", op->in[W]->dim[1].factor);
    tsri_opencl_arg_leading_strides(launch, "x", "bt", gates);
    tsri_opencl_arg_leading_strides(launch, "h", "b", tsri_opencl_in(op, STATE));
    tsri_opencl_arg_leading_strides(launch, "y", "bt", op->in[Y]);
    tsri_opencl_arg_leading_strides(launch, "d", "bt", op->in[DY]);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *gates = op->in[GATES_X];
    const int64_t E = op->in[W]->dim[1].factor;
    bind_operands(op, launch);
    tsri_opencl_arg_scratch(launch, "scratch",
                            tsri_tensor_times(gates->dim[0], tsri_tensor_const(4 * E)));
    tsri_opencl_grid(launch, 1, gates->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_times(gates->dim[1], tsri_tensor_const(6 * E * E)));
}

/* Binds scratch for five numbers of each element of y: see gates.cl. */
static void arg_gates(const tsr_op *op, tsri_opencl_launch *launch) {
    tsri_opencl_arg_scratch(
        launch, "scratch",
        tsri_tensor_times(tsri_tensor_count(op->in[Y]), tsri_tensor_const(5 * 4)));
}

static void bind_gates(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *gates = op->in[GATES_X];
    const int64_t E = op->in[W]->dim[1].factor;
    bind_operands(op, launch);
    arg_gates(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(E), 32);
    tsri_opencl_grid(launch, 1, tsri_tensor_times(gates->dim[0], gates->dim[1]), 16);
    tsri_opencl_work(launch, tsri_tensor_const(3 * 32 * 16 * E));
}

static void bind_rows(const tsri_opencl_variant *variant, const tsr_op *op,
                      tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *gates = op->in[GATES_X];
    const int64_t E = op->in[W]->dim[1].factor;
    bind_operands(op, launch);
    arg_gates(op, launch);
    tsri_opencl_grid(launch, 1, gates->dim[0], SEQUENCES);
    tsri_opencl_work(launch,
                     tsri_tensor_times(gates->dim[1], tsri_tensor_const(3 * SEQUENCES * E * E)));
}

static const tsri_opencl_stage gates = {.name = "gru_cell_grad_gates",
                                        .file = "gru_cell_grad/gates.cl",
                                        .define = define_rows,
                                        .bind = bind_gates};

const tsri_opencl_variant tsri_opencl_variants_gru_cell_grad[] = {
    {.name = "rows",
     .op = TSR_OP_GRU_CELL_GRAD,
     .file = "gru_cell_grad/rows.cl",
     .before = &gates,
     .alone = "a work-item runs for milliseconds, and workers that wait for it leave the chain",
     .score = 50,
     .weight_operand = W,
     .fits = fits_rows,
     .define = define_rows,
     .bind = bind_rows},
    {TSRI_OPENCL_PLAIN(TSR_OP_GRU_CELL_GRAD, "gru_cell_grad", fits_plain, define_plain, bind_plain),
     .weight_operand = W},
    {.name = NULL},
};
