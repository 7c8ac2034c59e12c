/* backends/opencl/variants/optimizers/sumsq.c - the variants of sumsq. */
#include "backends/opencl/variants/optimizers/states.h"
#include "backends/opencl/variants/shared/group.h"

static bool fits_group(const tsri_opencl_variant *variant, const tsri_opencl_facts *facts,
                       const tsr_op *op, const char **why) {
    const int group = tsri_opencl_variant_tunable(variant, "GROUP");
    return tsri_opencl_state_fits(variant, facts, op, why) &&
           tsri_opencl_fits_group(facts, group, 4 * (group + group / 16), why);
}

/* The elements of a run; the operands. */
static int64_t bind_operands(const tsr_op *op, tsri_opencl_launch *launch) {
    const tsr_sumsq_attrs *attrs = op->attrs;
    tsri_opencl_state_operands(op, op->in[1], launch);
    tsri_opencl_arg_int(launch, "first", attrs->first);
    tsri_opencl_arg_int(launch, "parts", attrs->parts);
    return tsri_opencl_highest(op, tsri_tensor_count(op->in[1])) / attrs->parts + 1;
}

static tsr_dim parts_of(const tsr_op *op) {
    return tsri_tensor_const(((const tsr_sumsq_attrs *)op->attrs)->parts);
}

static void bind_sumsq(const tsri_opencl_variant *variant, const tsr_op *op,
                       tsri_opencl_launch *launch) {
    (void)variant;
    const int64_t run = bind_operands(op, launch);
    tsri_opencl_grid(launch, 0, parts_of(op), 1);
    tsri_opencl_work(launch, tsri_tensor_const(run));
}

static void bind_sumsq_group(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    (void)variant;
    const int64_t run = bind_operands(op, launch);
    tsri_opencl_group_row(launch, parts_of(op), tsri_tensor_const(run));
}

static void bind_sumsq_lanes(const tsri_opencl_variant *variant, const tsr_op *op,
                             tsri_opencl_launch *launch) {
    bind_sumsq(variant, op, launch);
    tsri_opencl_group(launch, 1, 1, 1);
}

const tsri_opencl_variant tsri_opencl_variants_sumsq[] = {
    {.name = "group",
     .op = TSR_OP_SUMSQ,
     .file = "sumsq/group.cl",
     .gpu = true,
     .score = 55,
     .tunables = {{"GROUP", 64, 16, 256}},
     .weight_operand = -1,
     .fits = fits_group,
     .bind = bind_sumsq_group},
    {TSRI_OPENCL_LANES(TSR_OP_SUMSQ, "sumsq", 50, tsri_opencl_state_fits_lanes, NULL,
                       bind_sumsq_lanes),
     .weight_operand = -1},
    {TSRI_OPENCL_PLAIN(TSR_OP_SUMSQ, "sumsq", tsri_opencl_state_fits, NULL, bind_sumsq),
     .weight_operand = -1},
    {.name = NULL},
};
