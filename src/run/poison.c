/* run/poison.c - fills memory with NaN, so that what a run does not write can be seen. */
#include "base/error.h"
#include "run/context.h"

static tsr_status fill(tsri_run_context *context, size_t device, tsr_buf *buf, uint64_t bytes) {
    const tsr_transfer nans = {.struct_size = sizeof nans,
                               .kind = TSR_TRANSFER_FILL,
                               .dst = buf,
                               .bytes = bytes / 4 * 4,
                               .pattern = UINT32_MAX};
    return buf && nans.bytes ? TSRI_RUN_CALL(&context->slots[device], transfer, &nans, NULL, NULL)
                             : TSR_OK;
}

tsr_status tsri_run_poison(tsri_run_plan *plan) {
    tsri_run_context *context = plan->context;
    for (size_t i = 0; i < plan->n_places; i++)
        TRY(fill(context, plan->places[i].device, plan->places[i].buf, plan->places[i].bytes));
    for (size_t i = 0; i < context->options.n_devices; i++)
        for (size_t a = 0; a < context->slots[i].n_arenas; a++)
            TRY(fill(context, i, context->slots[i].arenas[a].buf,
                     context->slots[i].arenas[a].bytes));
    return TSR_OK;
}
