/* backends/opencl/variants/elements/dropout.c - the variants of dropout. */
#include "backends/opencl/variants/elements/plain.h"

#include <math.h>

static void define_dropout(const tsri_opencl_variant *variant, const tsr_op *op,
                           tsri_opencl_defines *defines) {
    (void)variant;
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

static void bind_dropout(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_launch *launch) {
    (void)variant;
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

static bool fits_dropout_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                               const tsr_op *op, const char **why) {
    if (!tsri_opencl_fits_vectors(facts, why) ||
        !tsri_opencl_fits_f32_elements(variant, facts, op, why))
        return false;
    return tsri_opencl_is_flat(op->in[0], op->out[0]) ||
           tsri_opencl_refuse(why, "x is not contiguous");
}

static void bind_dropout_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                               tsri_opencl_launch *launch) {
    enum { SPAN = 2048 };
    (void)variant;
    bind_dropout_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_count(op->out[0]), SPAN);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(8 * SPAN));
}

const tsri_opencl_variant tsri_opencl_variants_dropout[] = {
    {TSRI_OPENCL_LANES(TSR_OP_DROPOUT, "dropout", 50, fits_dropout_lanes, NULL, bind_dropout_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_DROPOUT, "dropout", tsri_opencl_fits_f32_elements, define_dropout,
                       bind_dropout),
     .weight_operand = -1},
    {.name = NULL},
};
