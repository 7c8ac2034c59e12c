/* backends/opencl/variants/attention/kv_append.c - kv_append: writes keys or values to their positions
 * in a state. */
#include "backends/opencl/variants/shared/heads.h"

#include "tensor/dtype.h"

TSRI_OPERANDS(kv_append);

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *state = op->in[STATE], *x = op->in[X];
    if (!tsri_opencl_is_f32(x))
        return tsri_opencl_refuse(why, "activations are taken as f32 only");
    if (!tsri_opencl_is_kv(state))
        return tsri_opencl_refuse(why, "the state is kept as f32, f16, bf16 or q8_0 only");
    if (!tsri_opencl_last_contiguous(state))
        return tsri_opencl_refuse(why, "the elements of a head are not contiguous");
    const tsr_tensor *pages = tsri_opencl_in(op, PAGES);
    return (!pages || tsri_opencl_fits_pages(pages, state->dim[2], why)) &&
           tsri_opencl_fits_heads(x, why) && tsri_opencl_fits_index(op, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_operand(defines, "STATE", op->in[STATE]);
    tsri_opencl_define_int(defines, "HAS_SLOT", tsri_opencl_in(op, SLOT) != NULL);
    tsri_opencl_define_pages(defines, tsri_opencl_in(op, PAGES), op->in[STATE]->dim[2]);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *state = op->in[STATE], *x = op->in[X];

    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "B", x->dim[0]);
    tsri_opencl_arg_dim(launch, "T", x->dim[1]);
    tsri_opencl_arg_int(launch, "G", x->dim[2].factor);
    tsri_opencl_arg_int(launch, "D", x->dim[3].factor);
    tsri_opencl_arg_dim(launch, "capacity", tsri_tensor_positions(op, "capacity"));
    tsri_opencl_arg_leading_strides(launch, "x", "btg", x);
    tsri_opencl_arg_leading_strides(launch, "s", "jgs", state);
    tsri_opencl_grid(launch, 0, tsri_tensor_times(x->dim[2], x->dim[3]),
                     tsri_tensor_dtype_info((tsr_dtype)state->dtype)->block);
    tsri_opencl_grid(launch, 1, x->dim[1], 1);
    tsri_opencl_grid(launch, 2, x->dim[0], 1);
}

const tsri_opencl_variant tsri_opencl_variants_kv_append[] = {
    {TSRI_OPENCL_PLAIN(TSR_OP_KV_APPEND, "kv_append", fits_plain, define_plain, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
