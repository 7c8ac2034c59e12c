/* backends/opencl/variants/reduce/choose_experts.c - the variants of choose_experts. */
#include "backends/opencl/variants/shared/group.h"

TSRI_OPERANDS(choose_experts);

enum { MOST_EXPERTS = 1024 /* of a work-group */ };

static int64_t experts_of(const tsr_op *op) {
    return op->in[SCORES]->dim[1].factor;
}

static int64_t groups_of(const tsr_op *op) {
    const tsr_choose_experts_attrs *attrs = op->attrs;
    return attrs->groups ? attrs->groups : 1;
}

static bool fits_plain(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    const tsr_tensor *bias = tsri_opencl_in(op, BIAS);
    (void)variant, (void)facts;
    if (!tsri_opencl_fits_rows(op->in[SCORES], why))
        return false;
    if ((bias && !tsri_tensor_is_packed(bias)) || !tsri_tensor_is_packed(op->out[FACTORS]) ||
        !tsri_tensor_is_packed(op->out[EXPERTS]))
        return tsri_opencl_refuse(why, "the bias or an output is not contiguous");
    return tsri_opencl_fits_index(op, why);
}

static bool fits_group(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    const int group = tsri_opencl_variant_tunable(variant, "GROUP");
    if (experts_of(op) > MOST_EXPERTS)
        return tsri_opencl_refuse(why, "made for up to 1024 experts");
    return fits_plain(variant, facts, op, why) &&
           tsri_opencl_fits_group(facts, group, 8 * (experts_of(op) + groups_of(op)), why);
}

static void define(const tsri_opencl_variant *variant, const tsr_op *op,
                   tsri_opencl_defines *defines) {
    const tsr_choose_experts_attrs *attrs = op->attrs;
    (void)variant;
    tsri_opencl_define_int(defines, "HAS_BIAS", tsri_opencl_in(op, BIAS) != NULL);
    tsri_opencl_define_int(defines, "E", experts_of(op));
    tsri_opencl_define_int(defines, "GROUPS", groups_of(op));
    tsri_opencl_define_int(defines, "USED",
                           attrs->groups_used ? (int64_t)attrs->groups_used : groups_of(op));
    tsri_opencl_define_int(defines, "BY_TWO", attrs->by_two != 0);
    tsri_opencl_define_int(defines, "SHARES", attrs->shares != 0);
}

static void bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    tsri_opencl_arg_operands(launch, op);
    tsri_opencl_arg_dims(launch);
}

static void bind_plain(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    const int64_t k = op->out[EXPERTS]->dim[1].factor;
    (void)variant;
    bind_operands(op, launch);
    tsri_opencl_arg_dim(launch, "R", op->in[SCORES]->dim[0]);
    tsri_opencl_arg_int(launch, "k", k);
    tsri_opencl_arg_row(launch, "scores", op->in[SCORES]);
    tsri_opencl_grid(launch, 0, op->in[SCORES]->dim[0], 1);
    tsri_opencl_work(launch, tsri_tensor_const(8 * experts_of(op)));
}

static void bind_group(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    bind_operands(op, launch);
    tsri_opencl_arg_int(launch, "k", op->out[EXPERTS]->dim[1].factor);
    tsri_opencl_arg_row(launch, "scores", op->in[SCORES]);
    tsri_opencl_group_rows(launch, op->in[SCORES]->dim[0], tsri_opencl_tuned(launch, "GROUP"),
                           experts_of(op) * experts_of(op));
}

const tsri_opencl_variant tsri_opencl_variants_choose_experts[] = {
    {.name = "group",
     .op = TSR_OP_CHOOSE_EXPERTS,
     .file = "choose_experts/group.cl",
     .gpu = true,
     .score = 60,
     .tunables = {{"GROUP", 64, 16, 256}},
     .weight_operand = -1,
     .fits = fits_group,
     .define = define,
     .bind = bind_group},
    {TSRI_OPENCL_PLAIN(TSR_OP_CHOOSE_EXPERTS, "choose_experts", fits_plain, define, bind_plain),
     .weight_operand = -1},
    {.name = NULL},
};
