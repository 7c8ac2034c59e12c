/* backends/opencl/variants/attention/attention_parts.c - what the variants of attention share: their
 * conditions, constants and arguments, and the merging of chunks. */
#include "backends/opencl/variants/attention/attention.h"

TSRI_OPERANDS(attention);
enum { CHUNK = TSRI_OPENCL_CHUNK }; /* keys */

/* place.clh finds keys by whole pages, counted from the keys that lie one after the other: so a page of all
 * heads is a number of them, the same for keys and values. */
static bool fits_pages(const tsr_op *op, const char **why) {
    const tsr_tensor *k = op->in[K], *v = op->in[V];
    int64_t pages[2];
    if (!tsri_opencl_fits_pages(op->in[PAGES], k->dim[1], why))
        return false;
    for (int i = 0; i < 2; i++) {
        const tsr_tensor *x = i ? v : k;
        const int64_t page = x->dim[1].factor * x->stride[1].factor;
        if (x->stride[0].symbols || x->stride[1].symbols || page < 1 || x->stride[0].factor % page)
            return tsri_opencl_refuse(why, "the keys of a head do not lie in pages");
        pages[i] = x->stride[0].factor / page;
    }
    return pages[0] == pages[1] ||
           tsri_opencl_refuse(why, "keys and values do not lie in the same pages");
}

bool tsri_opencl_fits_attention(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                                const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *q = op->in[Q], *k = op->in[K], *v = op->in[V], *y = op->out[Y];
    const tsr_tensor *source = tsri_opencl_in(op, SOURCE), *bias = tsri_opencl_in(op, BIAS);
    const tsr_tensor *heads[] = {q, k, v, y};
    for (int i = 0; i < 4; i++)
        if (!tsri_opencl_fits_private_heads(heads[i], why))
            return false;
    if (!tsri_opencl_is_f32(q) || !tsri_opencl_is_f32(y) || (bias && !tsri_opencl_is_f32(bias)))
        return tsri_opencl_refuse(why, "activations are taken as f32 only");
    if (!tsri_opencl_is_kv(k) || !tsri_opencl_is_kv(v))
        return tsri_opencl_refuse(why, "keys and values are taken as f32, f16, bf16 or q8_0 only");
    if (source &&
        (!tsri_tensor_is_packed(source) || !tsri_tensor_same_dim(source->dim[1], k->dim[1])))
        return tsri_opencl_refuse(why, "source is not an array of one slot a key");
    if (tsri_opencl_in(op, PAGES) && !fits_pages(op, why))
        return false;
    return tsri_opencl_fits_score_vectors(tsri_opencl_in(op, RELATIVE), tsri_opencl_in(op, SINKS),
                                          why) &&
           tsri_opencl_fits_index(op, why);
}

bool tsri_opencl_fits_narrow_products(const tsr_op *op, const char **why) {
    if (tsri_opencl_out(op, LSE))
        return tsri_opencl_refuse(
            why, "a gradient wants the log-sum-exp, and computes its scores again in f32");
    return (tsri_opencl_is_float(op->in[K]) && tsri_opencl_is_float(op->in[V])) ||
           tsri_opencl_refuse(why, "keys and values are taken as f32, f16 or bf16 only");
}

int tsri_opencl_key_unit(const tsr_tensor *x) {
    const int unit = x->dtype == TSR_F16 || x->dtype == TSR_BF16 ? 8 : 4;
    bool whole = x->offset % unit == 0 && x->dim[3].factor % unit == 0;
    for (int i = 0; i < 3; i++)
        whole = whole && x->stride[i].factor % unit == 0;
    return whole ? unit : 1;
}

int64_t tsri_opencl_rows_of_key(const tsr_op *op) {
    return tsri_opencl_highest(op, op->in[Q]->dim[1]) *
           tsri_opencl_heads_of_key(op->in[Q], op->in[K]);
}

tsr_dim tsri_opencl_keys_of(const tsr_op *op) {
    return tsri_tensor_positions(op, "S");
}

int64_t tsri_opencl_chunks_of(const tsr_op *op) {
    return (tsri_opencl_highest(op, tsri_opencl_keys_of(op)) + CHUNK - 1) / CHUNK;
}

/* The numbers that chunks.cl leaves of a sequence. */
static int64_t parts_of_sequence(const tsr_op *op, int queries) {
    return op->in[K]->dim[2].factor * tsri_opencl_chunks_of(op) * queries *
           (op->in[V]->dim[3].factor + 2);
}

bool tsri_opencl_fits_chunks(const tsr_op *op, int queries, const char **why) {
    if (tsri_opencl_chunks_of(op) < 2)
        return tsri_opencl_refuse(why, "made for more keys than a chunk has (256)");
    return tsri_opencl_highest(op, op->in[Q]->dim[0]) <=
               INT32_MAX / parts_of_sequence(op, queries) ||
           tsri_opencl_refuse(why, "what it leaves of all chunks exceeds 32-bit indices");
}

void tsri_opencl_define_attention(const tsri_opencl_variant *variant, const tsr_op *op,
                                  tsri_opencl_defines *defines) {
    (void)variant;
    const tsr_attention_attrs *attrs = op->attrs;
    tsri_opencl_define_operand(defines, "K", op->in[K]);
    tsri_opencl_define_operand(defines, "V", op->in[V]);
    tsri_opencl_define_int(defines, "HEAD", (int)op->in[Q]->dim[3].factor);
    tsri_opencl_define_int(defines, "VALUE", (int)op->in[V]->dim[3].factor);
    tsri_opencl_define_mask(defines, attrs->causal, attrs->window, tsri_opencl_in(op, PAST),
                            tsri_opencl_in(op, LEN));
    tsri_opencl_define_int(defines, "HAS_SLOT", tsri_opencl_in(op, SLOT) != NULL);
    tsri_opencl_define_int(defines, "HAS_SOURCE", tsri_opencl_in(op, SOURCE) != NULL);
    tsri_opencl_define_pages(defines, tsri_opencl_in(op, PAGES), op->in[K]->dim[1]);
    tsri_opencl_define_int(defines, "HAS_BIAS", tsri_opencl_in(op, BIAS) != NULL);
    tsri_opencl_define_int(defines, "HAS_RELATIVE", tsri_opencl_in(op, RELATIVE) != NULL);
    tsri_opencl_define_int(defines, "HAS_SINKS", tsri_opencl_in(op, SINKS) != NULL);
    tsri_opencl_define_int(defines, "HAS_SOFT_CAP", attrs->soft_cap > 0);
    tsri_opencl_define_int(defines, "HAS_LSE", tsri_opencl_out(op, LSE) != NULL);
}

void tsri_opencl_bind_attention(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_attention_attrs *attrs = op->attrs;
    const tsr_tensor *q = op->in[Q], *v = op->in[V], *y = op->out[Y];
    tsr_tensor k = *op->in[K];
    k.dim[1] = tsri_opencl_keys_of(op);
    tsri_opencl_arg_given(launch, op, Q, BIAS);
    tsri_opencl_arg_score_addends(launch, q, &k, tsri_opencl_in(op, BIAS),
                                  tsri_opencl_in(op, RELATIVE));
    if (tsri_opencl_in(op, SINKS))
        tsri_opencl_arg_tensor(launch, "sinks", op->in[SINKS]);
    if (tsri_opencl_in(op, PAGES))
        tsri_opencl_arg_tensor(launch, "pages", op->in[PAGES]);
    if (tsri_opencl_out(op, LSE))
        tsri_opencl_arg_tensor(launch, "lse", op->out[LSE]);
    tsri_opencl_arg_tensor(launch, "y", y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_head_sizes(launch, q, &k, v, y);
    tsri_opencl_arg_int(launch, "H", q->dim[2].factor);
    tsri_opencl_arg_int(launch, "group", tsri_opencl_heads_of_key(q, &k));
    tsri_opencl_arg_scale(launch, attrs);
}

void tsri_opencl_arg_chunks(const tsr_op *op, tsri_opencl_launch *launch, int queries) {
    tsri_opencl_arg_scratch(
        launch, "parts",
        tsri_tensor_times(op->in[Q]->dim[0],
                          tsri_tensor_const(4 * parts_of_sequence(op, queries))));
}

void tsri_opencl_bind_merging(const tsr_op *op, tsri_opencl_launch *launch, int queries) {
    const tsr_tensor *q = op->in[Q];
    tsri_opencl_bind_attention(op, launch);
    tsri_opencl_arg_chunks(op, launch, queries);
    tsri_opencl_grid(launch, 0, op->in[V]->dim[3], 1);
    tsri_opencl_grid(launch, 1, tsri_tensor_times(q->dim[1], q->dim[2]), 1);
    tsri_opencl_grid(launch, 2, q->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_const(16 * tsri_opencl_chunks_of(op)));
}
