/* backends/opencl/variants/recurrent/gru_cell.c - gru_cell: all steps of a recurrent layer. */
#include "backends/opencl/variants/shared/common.h"

TSRI_OPERANDS(gru_cell);
enum { ROWS = 4 /* sequences for each work-item of packed.cl */ };
enum { LARGEST_STATE = 2048, FEW = 4 /* with so few sequences most lanes of rows.cl are idle */ };

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *rows[] = {op->in[GATES_X], op->out[Y], tsri_opencl_in(op, STATE)};
    for (int i = 0; i < 3 && rows[i]; i++) {
        if (!tsri_opencl_is_f32(rows[i]))
            return tsri_opencl_refuse(why, "activations are taken as f32 only");
        if (!tsri_opencl_last_contiguous(rows[i]))
            return tsri_opencl_refuse(why, "the elements of a state are not contiguous");
    }
    return tsri_opencl_fits_vector(op->in[W], why) && tsri_opencl_fits_vector(op->in[BIAS], why) &&
           tsri_opencl_fits_index(op, why);
}

static bool fits_packed(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                        const tsr_op *op, const char **why) {
    if (!tsri_opencl_fits_vectors(facts, why))
        return false;
    if (op->in[W]->dim[1].factor % 16)
        return tsri_opencl_refuse(why, "the size of the state is not a multiple of 16");
    if (op->in[W]->offset != 0)
        return tsri_opencl_refuse(why, "the weight is part of another one");
    return fits_plain(variant, facts, op, why);
}

static bool fits_rows(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                      const tsr_op *op, const char **why) {
    if (!facts->cpu || !facts->vector16)
        return tsri_opencl_refuse(why, "made for CPUs: its vectors have 16 sequences");
    if (op->in[W]->dim[1].factor > LARGEST_STATE)
        return tsri_opencl_refuse(why, "the state is larger than 2048");
    if (tsri_opencl_highest(op, op->in[GATES_X]->dim[0]) <= FEW)
        return tsri_opencl_refuse(why, "made for more than 4 sequences");
    return fits_plain(variant, facts, op, why);
}

/* A plan whose runs have one step uses a work-item for each element, not one for each sequence. */
static bool one_step(const tsr_op *op) {
    return tsri_opencl_highest(op, op->in[GATES_X]->dim[1]) <= 1;
}

static int rows_together(const tsr_op *op) {
    return tsri_opencl_highest(op, op->in[GATES_X]->dim[0]) < ROWS ? 1 : ROWS;
}

static int vectors(const tsr_op *op) {
    return op->in[W]->dim[1].factor % 32 ? 1 : 2;
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_gru_cell_attrs *attrs = op->attrs;
    tsri_opencl_define_operand(defines, "W", op->in[W]);
    tsri_opencl_define_operand(defines, "BIAS", op->in[BIAS]);
    tsri_opencl_define_int(defines, "ONE", one_step(op));
    tsri_opencl_define_int(defines, "REVERSE", attrs->reverse != 0);
    tsri_opencl_define_int(defines, "HAS_STATE", tsri_opencl_in(op, STATE) != NULL);
    tsri_opencl_define_int(defines, "HAS_LEN", tsri_opencl_in(op, LEN) != NULL);
}

static void define_packed(const tsri_opencl_variant *variant, const tsr_op *op,
                          tsri_opencl_defines *defines) {
    define_plain(variant, op, defines);
    tsri_opencl_define_int(defines, "NV", vectors(op));
    tsri_opencl_define_int(defines, "ROWS", rows_together(op));
}

static void define_rows(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_defines *defines) {
    define_plain(variant, op, defines);
    tsri_opencl_define_int(defines, "STATE_SIZE", (int)op->in[W]->dim[1].factor);
}

/* Binds the arguments of names.clh. Where a run has one step, a work-item takes `width` elements of
 * `rows` sequences. */
static void bind(const tsr_op *op, tsri_opencl_launch *launch, int width, int rows) {
    const tsr_tensor *gates = op->in[GATES_X], *state = tsri_opencl_in(op, STATE), *y = op->out[Y];
    const int64_t E = op->in[W]->dim[1].factor;
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "B", gates->dim[0]);
    tsri_opencl_arg_dim(launch, "T", gates->dim[1]);
    tsri_opencl_arg_int(launch, "E", E);
    tsri_opencl_arg_leading_strides(launch, "x", "bt", gates);
    tsri_opencl_arg_leading_strides(launch, "h", "b", state);
    tsri_opencl_arg_leading_strides(launch, "y", "bt", y);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(one_step(op) ? E : 1), one_step(op) ? width : 1);
    tsri_opencl_grid(launch, 1, gates->dim[0], rows);
    tsri_opencl_work(launch, one_step(op) ? tsri_tensor_const(3 * E * width * rows)
                                          : tsri_tensor_times(gates->dim[1],
                                                              tsri_tensor_const(3 * E * E * rows)));
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind(op, launch, 1, 1);
}

static void bind_packed(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    bind(op, launch, 16 * vectors(op), rows_together(op));
}

static void bind_rows(const tsri_opencl_variant *variant, const tsr_op *op,
                      tsri_opencl_launch *launch) {
    (void)variant;
    bind(op, launch, 32, 16);
}

const tsri_opencl_variant tsri_opencl_variants_gru_cell[] = {
    {.name = "packed",
     .op = TSR_OP_GRU_CELL,
     .file = "gru_cell/packed.cl",
     .score = 80,
     .layout = &tsri_opencl_layout_panels64,
     .weight_operand = W,
     .fits = fits_packed,
     .define = define_packed,
     .bind = bind_packed},
    {.name = "rows",
     .op = TSR_OP_GRU_CELL,
     .file = "gru_cell/rows.cl",
     .alone = "a work-item runs for milliseconds, and workers that wait for it leave the chain",
     .score = 50,
     .weight_operand = W,
     .fits = fits_rows,
     .define = define_rows,
     .bind = bind_rows},
    {TSRI_OPENCL_PLAIN(TSR_OP_GRU_CELL, "gru_cell", fits_plain, define_plain, bind_plain),
     .weight_operand = W},
    {.name = NULL},
};
