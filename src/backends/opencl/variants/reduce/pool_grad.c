/* backends/opencl/variants/reduce/pool_grad.c - the gradient of pool. */
#include "backends/opencl/variants/shared/common.h"

TSRI_OPERANDS(pool_grad);

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *all[] = {op->in[X], op->in[DY], op->out[DX]};
    for (int i = 0; i < 3; i++) {
        if (!tsri_opencl_is_f32(all[i]))
            return tsri_opencl_refuse(why, "activations are taken as f32 only");
        if (!tsri_opencl_last_contiguous(all[i]))
            return tsri_opencl_refuse(why, "the elements of a vector are not contiguous");
    }
    if (!tsri_opencl_is_constant(op->in[X]->dim[2]))
        return tsri_opencl_refuse(why, "the number of elements is not constant");
    return tsri_opencl_fits_index(op, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_pool_attrs *attrs = op->attrs;
    tsri_opencl_define_int(defines, "KIND", (int)attrs->kind);
    tsri_opencl_define_int(defines, "HAS_LEN", tsri_opencl_in(op, LEN) != NULL);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *x = op->in[X], *dx = op->out[DX];
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "B", x->dim[0]);
    tsri_opencl_arg_dim(launch, "T", x->dim[1]);
    tsri_opencl_arg_int(launch, "C", x->dim[2].factor);
    tsri_opencl_arg_leading_strides(launch, "x", "bt", x);
    tsri_opencl_arg_leading_strides(launch, "d", "b", op->in[DY]);
    tsri_opencl_arg_leading_strides(launch, "o", "bt", dx);
    tsri_opencl_grid(launch, 0, x->dim[2], 1);
    tsri_opencl_grid(launch, 1, x->dim[0], 1);
    tsri_opencl_work(launch, x->dim[1]);
}

const tsri_opencl_variant tsri_opencl_variants_pool_grad[] = {
    {TSRI_OPENCL_PLAIN(TSR_OP_POOL_GRAD, "pool_grad", fits_plain, define_plain, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
