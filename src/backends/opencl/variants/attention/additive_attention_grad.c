/* backends/opencl/variants/attention/additive_attention_grad.c - the gradients of additive_attention. */
#include "backends/opencl/variants/shared/heads.h"

TSRI_OPERANDS(additive_attention_grad);

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    for (uint32_t i = Q; i <= DY; i++) {
        if (!tsri_opencl_is_f32(op->in[i]))
            return tsri_opencl_refuse(why, "activations are taken as f32 only");
        if (!tsri_opencl_last_contiguous(op->in[i]))
            return tsri_opencl_refuse(why, "the elements of a vector are not contiguous");
    }
    for (uint32_t i = DQ; i <= DVALUES; i++)
        if (!tsri_tensor_is_packed(op->out[i]))
            return tsri_opencl_refuse(why, "a result is not a packed array");
    return tsri_opencl_fits_key_sizes(op->in[Q], op->in[VALUES], why) &&
           tsri_opencl_fits_index(op, why);
}

static bool fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    if (!tsri_opencl_fits_vectors(facts, why))
        return false;
    if (op->in[Q]->dim[2].factor % 16 || op->in[VALUES]->dim[2].factor % 16)
        return tsri_opencl_refuse(why, "the size of a key or a value is not a multiple of 16");
    return fits_plain(variant, facts, op, why);
}

static void define_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                         tsri_opencl_defines *defines) {
    (void)variant;
    tsri_opencl_define_int(defines, "HAS_LEN", tsri_opencl_in(op, LEN) != NULL);
}

/* Binds the arguments of operands.clh, then the gradients of the scores: f32 [B,T,S]. */
static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_tensor *q = op->in[Q], *k = op->in[K], *values = op->in[VALUES], *dy = op->in[DY],
                     *probabilities = op->in[PROBABILITIES];
    tsri_opencl_arg_given(launch, op, Q, LEN);
    tsri_opencl_arg_results(launch, op, DQ, DVALUES);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_sequence_sizes(launch, q, k,
                                   (const tsr_tensor *const[]){q, k, values, probabilities, dy});
    tsri_opencl_arg_int(launch, "A", q->dim[2].factor);
    tsri_opencl_arg_int(launch, "E", values->dim[2].factor);
    tsri_opencl_arg_pairs(launch, q, k);
}

static void bind_scores(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_launch *launch) {
    (void)variant;
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, op->in[Q]->dim[1], 1);
    tsri_opencl_grid(launch, 1, op->in[Q]->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_times(op->in[K]->dim[1],
                                               tsri_tensor_const(op->in[VALUES]->dim[2].factor)));
}

static void bind(const tsr_op *op, tsri_opencl_launch *launch, int width) {
    const tsr_tensor *q = op->in[Q], *values = op->in[VALUES];
    const int64_t A = q->dim[2].factor, E = values->dim[2].factor;
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_const(A > E ? A : E), width);
    tsri_opencl_grid(launch, 1, q->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_times(tsri_tensor_times(q->dim[1], op->in[K]->dim[1]),
                                               tsri_tensor_const(32 * width)));
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

static const tsri_opencl_stage scores = {.name = "additive_grad_scores",
                                         .file = "additive_attention_grad/scores.cl",
                                         .define = define_plain,
                                         .bind = bind_scores};

const tsri_opencl_variant tsri_opencl_variants_additive_attention_grad[] = {
    {TSRI_OPENCL_LANES(TSR_OP_ADDITIVE_ATTENTION_GRAD, "additive_attention_grad", 50, fits_lanes,
                       define_plain, bind_lanes),
     .before = &scores, .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_ADDITIVE_ATTENTION_GRAD, "additive_attention_grad", fits_plain,
                       define_plain, bind_plain),
     .before = &scores, .weight_operand = -1},
    {.name = NULL},
};
