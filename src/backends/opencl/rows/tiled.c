/* linear and glu_linear by work-groups that share local memory: rows made for GPUs. */
#include "backends/opencl/rows/group.h"
#include "backends/opencl/rows/weighted.h"

enum { SKINNY = 8 }; /* rows of x that one group of a skinny row takes: decode, and small batches */

static bool trans_w(const tsr_op *op) {
    const tsr_linear_attrs *attrs = op->attrs; /* glu_linear's begins alike */
    return attrs->trans_w != 0;
}

static int64_t depth_of(const tsr_op *op) {
    return op->in[1]->dim[trans_w(op) ? 1 : 0].factor;
}

static int64_t outputs_of(const tsr_op *op) {
    return op->in[1]->dim[trans_w(op) ? 0 : 1].factor;
}

bool tsri_opencl_fits_tiled(const tsri_opencl_row *row, const tsri_opencl_facts *facts,
                            const tsr_op *op, const char **why) {
    if (!tsri_opencl_is_float(op->in[1]))
        return tsri_opencl_refuse(why, "reads weights of f32, f16 or bf16 only");
    return tsri_opencl_fits_weighted(op, why) &&
           tsri_opencl_fits_rows(tsri_opencl_in(op, 3), why) &&
           tsri_opencl_fits_tile(row, facts, why);
}

bool tsri_opencl_fits_skinny(const tsri_opencl_row *row, const tsri_opencl_facts *facts,
                             const tsr_op *op, const char **why) {
    if (tsri_opencl_highest(op, tsri_tensor_rows(op->in[0])) > SKINNY)
        return tsri_opencl_refuse(why, "made for up to 8 rows of x; this plan has more");
    return tsri_opencl_fits_tiled(row, facts, op, why);
}

/* Every row of `columns` elements begins at a multiple of four: read four at a time. */
static bool by_fours(const tsr_tensor *tensor, int64_t columns, int64_t pitch) {
    return columns % 4 == 0 && pitch % 4 == 0 && tensor->offset % 4 == 0;
}

void tsri_opencl_define_tiled(const tsri_opencl_row *row, const tsr_op *op,
                              tsri_opencl_defines *defines) {
    (void)row;
    const tsr_linear_attrs *attrs = op->attrs;
    const tsr_tensor *x = op->in[0], *w = op->in[1];
    /* Outputs of glu_linear are read in two halves. */
    const int64_t outputs = op->id == TSR_OP_LINEAR ? outputs_of(op) : outputs_of(op) / 2;
    const int64_t along = trans_w(op) ? depth_of(op) : outputs;
    tsri_opencl_define_weighted(op, attrs->activation, defines);
    tsri_opencl_define_int(defines, "TRANS_W", trans_w(op));
    tsri_opencl_define_int(defines, "FOUR_X", by_fours(x, depth_of(op), tsri_opencl_row_stride(x)));
    tsri_opencl_define_int(defines, "FOUR_W", by_fours(w, along, along));
    if (op->id == TSR_OP_LINEAR)
        tsri_opencl_define_int(defines, "HAS_RESIDUAL", tsri_opencl_in(op, 3) != NULL);
}

void tsri_opencl_bind_tiled(const tsri_opencl_row *row, const tsr_op *op,
                            tsri_opencl_launch *launch) {
    (void)row;
    const bool glu = op->id == TSR_OP_GLU_LINEAR;
    const tsr_tensor *x = op->in[0], *residual = tsri_opencl_in(op, 3), *y = op->out[0];
    tsri_opencl_arg_tensor(launch, x);
    tsri_opencl_arg_tensor(launch, op->in[1]);
    tsri_opencl_arg_tensor(launch, tsri_opencl_in(op, 2));
    if (!glu)
        tsri_opencl_arg_tensor(launch, residual);
    tsri_opencl_arg_tensor(launch, y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, tsri_tensor_rows(x));
    tsri_opencl_arg_int(launch, glu ? outputs_of(op) / 2 : outputs_of(op));
    tsri_opencl_arg_int(launch, depth_of(op));
    tsri_opencl_arg_int(launch, tsri_opencl_row_stride(x));
    if (!glu)
        tsri_opencl_arg_int(launch, tsri_opencl_row_stride(residual));
    tsri_opencl_arg_int(launch, tsri_opencl_row_stride(y));
    tsri_opencl_group_tile(launch, tsri_tensor_rows(x), tsri_tensor_const(outputs_of(op)),
                           tsri_tensor_const(depth_of(op)));
}
