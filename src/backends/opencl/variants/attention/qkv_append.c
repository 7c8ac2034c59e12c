/* backends/opencl/variants/attention/qkv_append.c - qkv_append: rotates queries and keys, and appends
 * keys and values to their states. */
#include "backends/opencl/variants/shared/heads.h"

TSRI_OPERANDS(qkv_append);
enum { LARGEST_HEAD = 512 }; /* a work-item keeps cosines and sines in private memory */

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *q = tsri_opencl_in(op, Q), *y = tsri_opencl_out(op, Y);
    const tsr_tensor *heads[] = {op->in[KEYS], op->in[VALUES], op->in[K], op->in[V], q, y};
    for (int i = 0; i < 6; i++) {
        if (!heads[i])
            continue;
        if (i < 2 ? !tsri_opencl_is_kv(heads[i]) : !tsri_opencl_is_f32(heads[i]))
            return tsri_opencl_refuse(
                why, "activations are taken as f32 only, states as f32, f16, bf16 or q8_0");
        if (!tsri_opencl_last_contiguous(heads[i]))
            return tsri_opencl_refuse(why, "the elements of a head are not contiguous");
        if (!tsri_opencl_is_constant(heads[i]->dim[3]) ||
            !tsri_opencl_is_constant(heads[i]->dim[i < 2 ? 1 : 2]))
            return tsri_opencl_refuse(why, "the number or size of heads is not constant");
    }
    const tsr_tensor *inv_freq = tsri_opencl_in(op, INV_FREQ);
    if (inv_freq && (!tsri_opencl_is_f32(inv_freq) || !tsri_tensor_is_packed(inv_freq)))
        return tsri_opencl_refuse(why, "inverse frequencies are taken as packed f32 only");
    const tsr_tensor *pages = tsri_opencl_in(op, PAGES);
    return (!pages || tsri_opencl_fits_pages(pages, op->in[KEYS]->dim[2], why)) &&
           tsri_opencl_fits_index(op, why);
}

static bool fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    if (!tsri_opencl_fits_vectors(facts, why))
        return false;
    if (op->in[K]->rank == 4 && op->in[K]->dim[3].factor > LARGEST_HEAD)
        return tsri_opencl_refuse(why, "a head is larger than 512");
    return fits_plain(variant, facts, op, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_rope_attrs *attrs = op->attrs;
    const tsr_tensor *q = tsri_opencl_in(op, Q);
    tsri_opencl_define_operand(defines, "KEYS", op->in[KEYS]);
    tsri_opencl_define_operand(defines, "VALUES", op->in[VALUES]);
    tsri_opencl_define_int(defines, "HAS_SLOT", tsri_opencl_in(op, SLOT) != NULL);
    tsri_opencl_define_pages(defines, tsri_opencl_in(op, PAGES), op->in[KEYS]->dim[2]);
    tsri_opencl_define_int(defines, "ROPE", q != NULL);
    tsri_opencl_define_int(defines, "INTERLEAVED", attrs->interleaved != 0);
    tsri_opencl_define_int(defines, "ROTARY", (int)attrs->rotary);
    tsri_opencl_define_int(defines, "H", q ? (int)q->dim[2].factor : 0);
    tsri_opencl_define_int(defines, "G", (int)op->in[K]->dim[2].factor);
    tsri_opencl_define_int(defines, "HEAD", (int)op->in[K]->dim[3].factor);
    tsri_opencl_define_int(defines, "VALUE", (int)op->in[V]->dim[3].factor);
}

/* Binds the arguments of body.clh. */
static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_rope_attrs *attrs = op->attrs;
    const tsr_tensor *keys = op->in[KEYS], *values = op->in[VALUES], *k = op->in[K], *v = op->in[V];
    const tsr_tensor *q = tsri_opencl_in(op, Q);
    const tsr_dim capacity = tsri_tensor_positions(op, "capacity");
    const tsr_dim sizes[] = {
        k->dim[0],       k->dim[1],       capacity,          k->stride[0],      k->stride[1],
        k->stride[2],    v->stride[0],    v->stride[1],      v->stride[2],      keys->stride[0],
        keys->stride[1], keys->stride[2], values->stride[0], values->stride[1], values->stride[2],
    };
    tsri_opencl_arg_given(launch, op, KEYS, PAGES);
    if (q) {
        const tsr_tensor *y = op->out[Y], *positions = op->in[POSITIONS];
        const tsr_dim strides[] = {q->stride[0],         q->stride[1],        q->stride[2],
                                   y->stride[0],         y->stride[1],        y->stride[2],
                                   positions->stride[0], positions->stride[1]};
        tsri_opencl_arg_tensor(launch, "y", y);
        tsri_opencl_arg_dim_list(launch, "rope_sizes", strides, sizeof strides / sizeof *strides);
        tsri_opencl_arg_float(launch, "magnitude",
                              attrs->magnitude != 0.0f ? attrs->magnitude : 1.0f);
    }
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim_list(launch, "sizes", sizes, sizeof sizes / sizeof *sizes);
}

static int64_t heads_of(const tsr_op *op) {
    const tsr_tensor *q = tsri_opencl_in(op, Q);
    return (q ? q->dim[2].factor : 0) + 2 * op->in[K]->dim[2].factor;
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *k = op->in[K], *v = op->in[V];
    const int64_t size = k->dim[3].factor > v->dim[3].factor ? k->dim[3].factor : v->dim[3].factor;
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(size), 1);
    tsri_opencl_grid(launch, 1, tsri_tensor_const(heads_of(op)), 1);
    tsri_opencl_grid(launch, 2, tsri_tensor_times(k->dim[0], k->dim[1]), 1);
}

static void bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *k = op->in[K];
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, k->dim[1], 1);
    tsri_opencl_grid(launch, 1, k->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_const(heads_of(op) * k->dim[3].factor));
}

const tsri_opencl_variant tsri_opencl_variants_qkv_append[] = {
    {TSRI_OPENCL_LANES(TSR_OP_QKV_APPEND, "qkv_append", 50, fits_lanes, define_plain, bind_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_QKV_APPEND, "qkv_append", fits_plain, define_plain, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
