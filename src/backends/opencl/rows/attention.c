#include "backends/opencl/rows/common.h"

enum { Q, K, V, PAST, LEN, SLOT, SOURCE, BIAS }; /* operands; outputs are y, lse */
enum { LARGEST_HEAD = 512 }; /* a query and a sum of values are private to a work-item */

static bool fits_plain(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    (void)row, (void)facts;
    const tsr_tensor *q = op->in[Q], *k = op->in[K], *v = op->in[V], *y = op->out[0];
    const tsr_tensor *source = tsri_opencl_in(op, SOURCE), *bias = tsri_opencl_in(op, BIAS);
    const tsr_tensor *heads[] = {q, k, v, y};
    for (int i = 0; i < 4; i++) {
        if (heads[i]->rank != 4 || !tsri_opencl_last_contiguous(heads[i]))
            return tsri_opencl_refuse(why, "the elements of a head do not lie side by side");
        if (!tsri_opencl_is_constant(heads[i]->dim[2]) ||
            !tsri_opencl_is_constant(heads[i]->dim[3]))
            return tsri_opencl_refuse(why, "the number or size of heads is not constant");
        if (heads[i]->dim[3].factor > LARGEST_HEAD)
            return tsri_opencl_refuse(why, "a head is larger than 512");
    }
    if (!tsri_opencl_is_f32(q) || !tsri_opencl_is_f32(y) || (bias && !tsri_opencl_is_f32(bias)))
        return tsri_opencl_refuse(why, "activations are taken as f32 only");
    if (!tsri_opencl_is_float(k) || !tsri_opencl_is_float(v))
        return tsri_opencl_refuse(why, "keys and values are taken as f32, f16 or bf16 only");
    if (source &&
        (!tsri_tensor_is_packed(source) || !tsri_tensor_same_dim(source->dim[1], k->dim[1])))
        return tsri_opencl_refuse(why, "source is not an array of one slot a key");
    return tsri_opencl_fits_index(op, why);
}

static bool fits_lanes(const tsri_opencl_row *row, const tsri_opencl_facts *facts, const tsr_op *op,
                       const char **why) {
    if (!facts->cpu)
        return tsri_opencl_refuse(why, "made for CPUs: a work-item keeps a whole head in vectors");
    return fits_plain(row, facts, op, why);
}

/* Elements a vector: what divides both head sizes. */
static int vector_width(const tsr_op *op) {
    const int64_t sizes = op->in[Q]->dim[3].factor | op->in[V]->dim[3].factor;
    return sizes % 8 == 0 ? 8 : sizes % 4 == 0 ? 4 : 1;
}

static void define_plain(const tsri_opencl_row *row, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)row;
    const tsr_attention_attrs *attrs = op->attrs;
    tsri_opencl_define_operand(defines, "K", op->in[K]);
    tsri_opencl_define_operand(defines, "V", op->in[V]);
    tsri_opencl_define_int(defines, "HEAD", (int)op->in[Q]->dim[3].factor);
    tsri_opencl_define_int(defines, "VALUE", (int)op->in[V]->dim[3].factor);
    tsri_opencl_define_int(defines, "W", vector_width(op));
    tsri_opencl_define_int(defines, "CAUSAL", attrs->causal != 0);
    tsri_opencl_define_int(defines, "WINDOW",
                           attrs->window > INT32_MAX / 2 ? 0 : (int)attrs->window);
    tsri_opencl_define_int(defines, "HAS_PAST", tsri_opencl_in(op, PAST) != NULL);
    tsri_opencl_define_int(defines, "HAS_LEN", tsri_opencl_in(op, LEN) != NULL);
    tsri_opencl_define_int(defines, "HAS_SLOT", tsri_opencl_in(op, SLOT) != NULL);
    tsri_opencl_define_int(defines, "HAS_SOURCE", tsri_opencl_in(op, SOURCE) != NULL);
    tsri_opencl_define_int(defines, "HAS_BIAS", tsri_opencl_in(op, BIAS) != NULL);
    tsri_opencl_define_int(defines, "HAS_LSE", tsri_opencl_out(op, 1) != NULL);
}

static void bind_plain(const tsri_opencl_row *row, const tsr_op *op, tsri_opencl_launch *launch) {
    (void)row;
    const tsr_attention_attrs *attrs = op->attrs;
    const tsr_tensor *q = op->in[Q], *k = op->in[K], *v = op->in[V], *y = op->out[0];
    const tsr_tensor *bias = tsri_opencl_in(op, BIAS);

    for (uint32_t i = Q; i <= BIAS; i++)
        tsri_opencl_arg_tensor(launch, tsri_opencl_in(op, i));
    tsri_opencl_arg_tensor(launch, y);
    tsri_opencl_arg_tensor(launch, tsri_opencl_out(op, 1));
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, q->dim[0]);
    tsri_opencl_arg_dim(launch, q->dim[1]);
    tsri_opencl_arg_dim(launch, k->dim[1]);
    tsri_opencl_arg_int(launch, q->dim[2].factor);
    tsri_opencl_arg_int(launch, q->dim[2].factor / k->dim[2].factor);
    tsri_opencl_arg_leading_strides(launch, q, 3);
    tsri_opencl_arg_leading_strides(launch, k, 3);
    tsri_opencl_arg_leading_strides(launch, v, 3);
    tsri_opencl_arg_leading_strides(launch, y, 3);
    if (bias) {
        const tsr_tensor scores = {.rank = 4, .dim = {q->dim[0], q->dim[2], q->dim[1], k->dim[1]}};
        const tsr_tensor view = tsri_opencl_broadcast(bias, &scores);
        tsri_opencl_arg_leading_strides(launch, &view, 4);
    }
    tsri_opencl_arg_float(launch, attrs->scale);
    tsri_opencl_grid(launch, 0, q->dim[1], 1);
    tsri_opencl_grid(launch, 1, q->dim[2], 1);
    tsri_opencl_grid(launch, 2, q->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_times(k->dim[1], tsri_tensor_const(q->dim[3].factor +
                                                                            v->dim[3].factor)));
}

const tsri_opencl_row tsri_opencl_rows_attention[] = {
    {.name = "lanes",
     .op = TSR_OP_ATTENTION,
     .file = "attention/lanes.cl",
     .score = 50,
     .tunables = {{"BK", 8, 1, 32}},
     .weight_operand = -1,
     .fits = fits_lanes,
     .define = define_plain,
     .bind = bind_plain},
    {.name = "plain",
     .op = TSR_OP_ATTENTION,
     .file = "attention/plain.cl",
     .plain = true,
     .score = 10,
     .tunables = {{"BK", 8, 1, 32}},
     .weight_operand = -1,
     .fits = fits_plain,
     .define = define_plain,
     .bind = bind_plain},
    {.name = NULL},
};
