#include "backends/opencl/clblast.h"
#include "backends/opencl/rows/common.h"

static bool fits_plain(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    (void)row, (void)facts;
    const tsr_tensor *a = op->in[0], *b = op->in[1], *y = op->out[0];
    if (a->rank > 5 || b->rank > 5 || y->rank > 5)
        return tsri_opencl_refuse(why, "more than three leading dimensions");
    if (!tsri_opencl_is_float(a) || !tsri_opencl_is_float(b) || !tsri_opencl_is_float(y))
        return tsri_opencl_refuse(why, "operands are taken as f32, f16 or bf16 only");
    if (a->layout || b->layout)
        return tsri_opencl_refuse(why, "an operand is a weight in a layout of its own");
    return tsri_opencl_fits_index(op, why);
}

/* One row alone needs no tile of rows. */
static int tile_rows(const tsr_op *op) {
    return tsri_opencl_highest(op, op->out[0]->dim[op->out[0]->rank - 2]) <= 1 ? 1 : 4;
}

static void define_plain(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    const tsr_matmul_attrs *attrs = op->attrs;
    tsri_opencl_define_operand(defines, "A", op->in[0]);
    tsri_opencl_define_operand(defines, "B", op->in[1]);
    tsri_opencl_define_operand(defines, "Y", op->out[0]);
    tsri_opencl_define_int(defines, "TRANS_A", attrs->trans_a != 0);
    tsri_opencl_define_int(defines, "TRANS_B", attrs->trans_b != 0);
    tsri_opencl_define_int(defines, "TM", tile_rows(op));
}

/* `tensor` with its leading dimensions repeated to those of y; the last two stay as they are. */
static tsr_tensor spread(const tsr_tensor *tensor, const tsr_tensor *y) {
    tsr_tensor shape = *y;
    for (uint32_t i = 1; i <= 2; i++)
        shape.dim[shape.rank - i] = tensor->dim[tensor->rank - i];
    return tsri_opencl_broadcast(tensor, &shape);
}

static void bind_plain(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_matmul_attrs *attrs = op->attrs;
    const tsr_tensor *y = op->out[0];
    const tsr_tensor a = spread(op->in[0], y), b = spread(op->in[1], y);
    const tsr_dim depth = a.dim[a.rank - (attrs->trans_a ? 2 : 1)];
    const int tn = tsri_opencl_tuned(launch, "TN"), tm = tile_rows(op);

    tsr_dim matrices = tsri_tensor_const(1);
    for (uint32_t i = 0; i + 2 < y->rank; i++)
        matrices = tsri_tensor_times(matrices, y->dim[i]);

    tsri_opencl_arg_tensor(launch, op->in[0]);
    tsri_opencl_arg_tensor(launch, op->in[1]);
    tsri_opencl_arg_tensor(launch, y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_sizes(launch, y);
    tsri_opencl_arg_strides(launch, &a);
    tsri_opencl_arg_strides(launch, &b);
    tsri_opencl_arg_strides(launch, y);
    tsri_opencl_arg_dim(launch, depth);
    tsri_opencl_arg_float(launch, attrs->alpha != 0.0f ? attrs->alpha : 1.0f);
    tsri_opencl_grid(launch, 0, y->dim[y->rank - 1], tn);
    tsri_opencl_grid(launch, 1, y->dim[y->rank - 2], tm);
    tsri_opencl_grid(launch, 2, matrices, 1);
    tsri_opencl_work(launch, tsri_tensor_times(depth, tsri_tensor_const(tn * tm)));
}

const tsri_opencl_row tsri_opencl_rows_matmul[] = {
    TSRI_OPENCL_CLBLAST_MATMUL, /* only where it is forced: its score is the lowest */
    {.name = "plain",
     .op = TSR_OP_MATMUL,
     .file = "matmul/plain.cl",
     .plain = true,
     .score = 10,
     .tunables = {{"TN", 4, 1, 8}},
     .weight_operand = -1,
     .fits = fits_plain,
     .define = define_plain,
     .bind = bind_plain},
    {.name = NULL},
};
