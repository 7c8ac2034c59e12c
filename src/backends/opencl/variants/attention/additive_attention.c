/* backends/opencl/variants/attention/additive_attention.c - additive_attention (Bahdanau's): plain for
 * every device, lanes for CPUs. */
#include "backends/opencl/variants/shared/heads.h"

TSRI_OPERANDS(additive_attention);
enum { WIDE = 64 }; /* elements of the context that a work-item of lanes.cl sums */

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *probabilities = tsri_opencl_out(op, PROBABILITIES);
    const tsr_tensor *rows[] = {op->in[Q],      op->in[K],  op->in[V],
                                op->in[VALUES], op->out[Y], probabilities};
    for (int i = 0; i < 6; i++)
        if (rows[i] && !tsri_opencl_last_contiguous(rows[i]))
            return tsri_opencl_refuse(why, "the elements of a vector are not contiguous");
    if (!tsri_opencl_is_f32(op->in[Q]) || !tsri_opencl_is_f32(op->in[V]) ||
        !tsri_opencl_is_f32(op->out[Y]))
        return tsri_opencl_refuse(why, "activations are taken as f32 only");
    if (!tsri_opencl_is_float(op->in[K]) || !tsri_opencl_is_float(op->in[VALUES]))
        return tsri_opencl_refuse(why, "keys and values are taken as f32, f16 or bf16 only");
    return tsri_opencl_fits_key_sizes(op->in[Q], op->in[VALUES], why) &&
           tsri_opencl_fits_index(op, why);
}

static bool fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    return tsri_opencl_fits_vectors(facts, why) && fits_plain(variant, facts, op, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_operand(defines, "K", op->in[K]);
    tsri_opencl_define_operand(defines, "VALUES", op->in[VALUES]);
    tsri_opencl_define_int(defines, "HAS_LEN", tsri_opencl_in(op, LEN) != NULL);
    tsri_opencl_define_int(defines, "HAS_SLOT", tsri_opencl_in(op, SLOT) != NULL);
    tsri_opencl_define_int(defines, "HAS_PROBABILITIES",
                           tsri_opencl_out(op, PROBABILITIES) != NULL);
}

/* Binds the arguments of operands.clh. */
static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_tensor *q = op->in[Q], *k = op->in[K], *values = op->in[VALUES], *y = op->out[Y],
                     *probabilities = tsri_opencl_out(op, PROBABILITIES);
    tsri_opencl_arg_given(launch, op, Q, SLOT);
    if (probabilities)
        tsri_opencl_arg_tensor(launch, "probabilities", probabilities);
    tsri_opencl_arg_tensor(launch, "y", y);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_sequence_sizes(launch, q, k,
                                   (const tsr_tensor *const[]){q, k, values, y, probabilities});
    tsri_opencl_arg_int(launch, "A", q->dim[2].factor);
    tsri_opencl_arg_int(launch, "E", values->dim[2].factor);
}

static void bind_scores(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *q = op->in[Q];
    bind_operands(op, launch);
    tsri_opencl_arg_pairs(launch, q, op->in[K]);
    tsri_opencl_grid(launch, 0, op->in[K]->dim[1], 1);
    tsri_opencl_grid(launch, 1, q->dim[1], 1);
    tsri_opencl_grid(launch, 2, q->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_const(16 * q->dim[2].factor));
}

static void bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *q = op->in[Q];
    bind_operands(op, launch);
    tsri_opencl_arg_pairs(launch, q, op->in[K]);
    tsri_opencl_grid(launch, 0, op->in[VALUES]->dim[2], WIDE);
    tsri_opencl_grid(launch, 1, q->dim[1], 1);
    tsri_opencl_grid(launch, 2, q->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_times(op->in[K]->dim[1], tsri_tensor_const(WIDE + 16)));
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *q = op->in[Q];
    const int64_t a_key = 32 * q->dim[2].factor + op->in[VALUES]->dim[2].factor;
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, q->dim[1], 1);
    tsri_opencl_grid(launch, 1, q->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_times(op->in[K]->dim[1], tsri_tensor_const(a_key)));
}

static const tsri_opencl_stage scores = {.name = "additive_scores",
                                         .file = "additive_attention/scores.cl",
                                         .define = define_plain,
                                         .bind = bind_scores};

const tsri_opencl_variant tsri_opencl_variants_additive_attention[] = {
    {TSRI_OPENCL_LANES(TSR_OP_ADDITIVE_ATTENTION, "additive_attention", 50, fits_lanes,
                       define_plain, bind_lanes),
     .before = &scores, .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_ADDITIVE_ATTENTION, "additive_attention", fits_plain, define_plain,
                       bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
