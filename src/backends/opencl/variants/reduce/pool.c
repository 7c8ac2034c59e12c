/* backends/opencl/variants/reduce/pool.c - pool: one vector for each sequence. */
#include "backends/opencl/variants/shared/common.h"

TSRI_OPERANDS(pool);

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *x = op->in[X], *y = op->out[Y];
    if (!tsri_opencl_is_f32(x) || !tsri_opencl_is_f32(y))
        return tsri_opencl_refuse(why, "activations are taken as f32 only");
    if (!tsri_opencl_last_contiguous(x) || !tsri_opencl_last_contiguous(y) ||
        !tsri_opencl_is_constant(x->dim[2]))
        return tsri_opencl_refuse(why, "the elements of a vector are not contiguous");
    return tsri_opencl_fits_index(op, why);
}

static bool fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    if (!facts->vector16)
        return tsri_opencl_refuse(why, "made for CPUs: its vectors have 16 elements");
    if (op->in[X]->dim[2].factor % 16)
        return tsri_opencl_refuse(why, "the number of elements is not a multiple of 16");
    return fits_plain(variant, facts, op, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_pool_attrs *attrs = op->attrs;
    tsri_opencl_define_int(defines, "KIND", (int)attrs->kind);
    tsri_opencl_define_int(defines, "HAS_LEN", tsri_opencl_in(op, LEN) != NULL);
}

static void bind(const tsr_op *op, tsri_opencl_launch *launch, int per_item) {
    const tsr_tensor *x = op->in[X], *y = op->out[Y];
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "B", x->dim[0]);
    tsri_opencl_arg_dim(launch, "T", x->dim[1]);
    tsri_opencl_arg_int(launch, "C", x->dim[2].factor);
    tsri_opencl_arg_leading_strides(launch, "x", "bt", x);
    tsri_opencl_arg_leading_strides(launch, "y", "b", y);
    tsri_opencl_grid(launch, 0, x->dim[2], per_item);
    tsri_opencl_grid(launch, 1, x->dim[0], 1);
    tsri_opencl_work(launch, x->dim[1]);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind(op, launch, 1);
}

static void bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind(op, launch, 16);
}

const tsri_opencl_variant tsri_opencl_variants_pool[] = {
    {TSRI_OPENCL_LANES(TSR_OP_POOL, "pool", 50, fits_lanes, define_plain, bind_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_POOL, "pool", fits_plain, define_plain, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
