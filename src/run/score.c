/* run/score.c - how well a device would serve an op. */
#include "run/context.h"

#include "base/error.h"

static void keep_best(void *data, const tsr_variant *variant) {
    int32_t *best = data;
    if (variant->fits && variant->score > *best)
        *best = variant->score;
}

tsr_status tsri_run_best_score(tsri_run_context *context, size_t device, const tsr_op *op,
                               int32_t *score) {
    *score = -1;
    TRY(tsri_run_slot_open(context, device));
    return TSRI_RUN_CALL(&context->slots[device], op_variants, op, keep_best, score);
}

uint32_t tsri_run_device_type(const tsri_run_context *context, size_t device) {
    return context->slots[device].device->facts.type;
}

const char *tsri_run_device_name(const tsri_run_context *context, size_t device) {
    return context->slots[device].device->facts.name;
}
