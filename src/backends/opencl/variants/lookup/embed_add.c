/* backends/opencl/variants/lookup/embed_add.c - embed_add: adds the gradients of looked-up rows to the
 * rows of their ids, in order. */
#include "backends/opencl/variants/shared/group.h"

TSRI_OPERANDS(embed_add);
enum { EACH = 1024 }; /* elements for each work-item of embed_add/beta.cl */

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    (void)variant, (void)facts;
    const tsr_tensor *state = op->in[STATE];
    if (!tsri_opencl_is_f32(state) || !tsri_tensor_is_packed(state) ||
        !tsri_opencl_is_constant(state->dim[0]) || !tsri_opencl_is_constant(state->dim[1]))
        return tsri_opencl_refuse(why, "the state is not a packed f32 matrix of constant size");
    if (!tsri_tensor_is_packed(op->in[IDS]))
        return tsri_opencl_refuse(why, "the ids are not contiguous; copy them first");
    return tsri_opencl_fits_rows(op->in[DY], why) && tsri_opencl_fits_index(op, why);
}

static bool fits_lanes(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    return tsri_opencl_fits_vectors(facts, why) && fits_plain(variant, facts, op, why);
}

static bool fits_group(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    return fits_plain(variant, facts, op, why) && tsri_opencl_fits_group_row(variant, facts, why);
}

static void define_beta(const tsri_opencl_variant *variant, const tsr_op *op,
                        tsri_opencl_defines *defines) {
    (void)variant, (void)op;
    tsri_opencl_define_int(defines, "EACH", EACH);
}

/* Nothing is launched where beta is missing. */
static void bind_beta(const tsri_opencl_variant *variant, const tsr_op *op,
                      tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_tensor *beta = tsri_opencl_in(op, BETA);
    const tsr_dim n = tsri_tensor_count(op->in[STATE]);
    tsri_opencl_arg_tensor(launch, "state", op->in[STATE]);
    tsri_opencl_arg_tensor(launch, "beta", beta);
    tsri_opencl_arg_int(launch, "n", n.factor);
    tsri_opencl_grid(launch, 0, beta ? n : tsri_tensor_const(0), EACH);
    tsri_opencl_work(launch, tsri_tensor_const(EACH));
}

static const tsri_opencl_stage stage_beta = {
    .name = "beta", .file = "embed_add/beta.cl", .define = define_beta, .bind = bind_beta};

static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_embed_attrs *attrs = op->attrs;
    const tsr_tensor *state = op->in[STATE];
    tsri_opencl_arg_inputs(launch, op, STATE, DY);
    tsri_opencl_arg_dims(launch);
    tsri_opencl_arg_dim(launch, "N", tsri_tensor_count(op->in[IDS]));
    tsri_opencl_arg_int(launch, "V", state->dim[0].factor);
    tsri_opencl_arg_int(launch, "C", state->dim[1].factor);
    tsri_opencl_arg_row(launch, "dy", op->in[DY]);
    tsri_opencl_arg_float(launch, "scale", attrs->scale != 0.0f ? attrs->scale : 1.0f);
    tsri_opencl_arg_int(launch, "skip", (int64_t)attrs->padding - 1);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_dim N = tsri_tensor_count(op->in[IDS]);
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, N, 1);
    tsri_opencl_work(
        launch, tsri_tensor_const(tsri_opencl_highest(op, N) + 2 * op->in[STATE]->dim[1].factor));
}

/* The first token of each id does all of its id's work, and a chain's tasks are runs of tokens: a
 * large work estimate keeps these tasks short. */
static void bind_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, tsri_tensor_count(op->in[IDS]), 1);
    tsri_opencl_group(launch, 1, 1, 1);
    tsri_opencl_work(launch, tsri_tensor_const(4096));
}

static void bind_group(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const tsr_dim N = tsri_tensor_count(op->in[IDS]);
    bind_operands(op, launch);
    tsri_opencl_group_row(launch, N, N);
}

const tsri_opencl_variant tsri_opencl_variants_embed_add[] = {
    {.name = "group",
     .op = TSR_OP_EMBED_ADD,
     .file = "embed_add/group.cl",
     .before = &stage_beta,
     .gpu = true,
     .score = 50,
     .tunables = {{"GROUP", 64, 16, 256}},
     .weight_operand = -1,
     .fits = fits_group,
     .bind = bind_group},
    {TSRI_OPENCL_LANES(TSR_OP_EMBED_ADD, "embed_add", 40, fits_lanes, NULL, bind_lanes),
     .before = &stage_beta, .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_EMBED_ADD, "embed_add", fits_plain, NULL, bind_plain),
     .before = &stage_beta, .weight_operand = -1},
    {.name = NULL},
};
