/* backends/opencl/rows/reduce/select.c - argmax and topk. */
#include "backends/opencl/rows/shared/common.h"

static bool fits_plain(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    (void)row, (void)facts;
    int64_t stride;
    if (!tsri_opencl_is_float(op->in[0]))
        return tsri_opencl_refuse(why, "x is taken as f32, f16 or bf16 only");
    if (!tsri_tensor_collapses(op->in[0], &stride))
        return tsri_opencl_refuse(why, "the rows of x are not evenly spaced; copy it first");
    for (uint32_t i = 0; i < op->n_out; i++)
        if (op->out[i] && !tsri_tensor_is_packed(op->out[i]))
            return tsri_opencl_refuse(why, "an output is not contiguous");
    return tsri_opencl_fits_index(op, why);
}

static bool fits_lanes(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    if (!facts->cpu || !facts->vector16)
        return tsri_opencl_refuse(why, "made for CPUs: its vectors have 16 elements");
    if (!tsri_opencl_is_f32(op->in[0]))
        return tsri_opencl_refuse(why, "x is taken as f32 only");
    return fits_plain(row, facts, op, why);
}

static void define_plain(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    tsri_opencl_define_operand(defines, "X", op->in[0]);
    if (op->id == TSR_OP_TOPK)
        tsri_opencl_define_int(defines, "HAS_LSE", tsri_opencl_out(op, 2) != NULL);
}

static void bind_plain(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_tensor *x = op->in[0];

    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "R", tsri_tensor_rows(x));
    tsri_opencl_arg_dim(launch, "V", tsri_tensor_columns(x));
    if (op->id == TSR_OP_TOPK)
        tsri_opencl_arg_int(launch, "k", ((const tsr_topk_attrs *)op->attrs)->k);
    tsri_opencl_arg_row(launch, "x", x);
    tsri_opencl_grid(launch, 0, tsri_tensor_rows(x), 1);
    tsri_opencl_work(launch, tsri_tensor_times(tsri_tensor_columns(x), tsri_tensor_const(8)));
}

static void bind_lanes(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    bind_plain(row, op, launch);
    tsri_opencl_group(launch, 1, 1, 1);
}

#define ROWS(id, folder)                                                      \
    {TSRI_OPENCL_LANES(id, folder, 50, fits_lanes, define_plain, bind_lanes), \
     .weight_operand = -1},                                                   \
        {TSRI_OPENCL_PLAIN(id, folder, fits_plain, define_plain, bind_plain), \
         .weight_operand = -1},                                               \
    {                                                                         \
        .name = NULL                                                          \
    }

const tsri_opencl_row tsri_opencl_rows_argmax[] = {ROWS(TSR_OP_ARGMAX, "argmax")};
const tsri_opencl_row tsri_opencl_rows_topk[] = {ROWS(TSR_OP_TOPK, "topk")};
