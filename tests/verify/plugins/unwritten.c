/* The example backend with one defect: the last column of silu's rows is not written. */
#define tsr_backend_get sound_backend_get
#include "../../../examples/backend_minimal/minimal.c"
#undef tsr_backend_get

static tsr_status sloppy_run(tsr_plan *plan, const tsr_run *run, const tsr_waits *waits,
                             tsr_event **done) {
    for (size_t i = 0; i < plan->n; i++)
        if (plan->steps[i].op.id ==
            TSR_OP_SILU) /* its output, plan->steps[i].operands[1], loses a column */
            plan->steps[i].operands[1].dim[plan->steps[i].operands[1].rank - 1].factor--;
    const tsr_status status = plan_run(plan, run, waits, done);
    for (size_t i = 0; i < plan->n; i++)
        if (plan->steps[i].op.id == TSR_OP_SILU)
            plan->steps[i].operands[1].dim[plan->steps[i].operands[1].rank - 1].factor++;
    return status;
}

TSR_API const tsr_backend *tsr_backend_get(uint32_t abi);
const tsr_backend *tsr_backend_get(uint32_t abi) {
    static tsr_backend table;
    table = *sound_backend_get(abi);
    table.plan_run = sloppy_run;
    return &table;
}
