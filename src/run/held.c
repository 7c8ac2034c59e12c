/* run/held.c - what a context has: open devices, their buffers, weights and states by their ids,
 * and a log. */
#include "base/error.h"
#include "run/context.h"

#include <stdarg.h>
#include <stdio.h>

void tsri_run_log(const tsri_run_context *context, tsr_log_level level, const char *format, ...) {
    if (!context->options.log)
        return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    context->options.log(context->options.log_data, level, line);
}

tsr_status tsri_run_buffer(tsri_run_context *context, size_t device, tsr_kind kind, uint64_t bytes,
                           const char *what, tsr_buf **out) {
    const tsr_buffer_spec spec = {.struct_size = sizeof spec,
                                  .kind = kind,
                                  .bytes = bytes ? bytes : 4,
                                  .zeroed = kind == TSR_KIND_STATE};
    const tsr_status status = TSRI_RUN_CALL(&context->slots[device], buffer_create, &spec, out);
    return status == TSR_OK ? status
                            : tsri_base_fail_within(status, "%s (%llu bytes)", what,
                                                    (unsigned long long)spec.bytes);
}

void tsri_run_buffer_drop(tsri_run_context *context, size_t device, tsr_buf **buf) {
    if (*buf)
        context->slots[device].device->backend->buffer_destroy(*buf);
    *buf = NULL;
}

/* The reference device is opened when the first op needs it. */
tsr_status tsri_run_slot_open(tsri_run_context *context, size_t device) {
    tsri_run_slot *slot = &context->slots[device];
    if (slot->device)
        return TSR_OK;
    if (!context->reference)
        TRY(tsri_backend_reference_open(context->options.set, &context->reference));
    slot->device = context->reference;
    return TSR_OK;
}

const tsri_run_weight *tsri_run_weight_find(const tsri_run_context *context, uint32_t id,
                                            size_t device) {
    for (size_t i = 0; i < context->n_weights; i++)
        if (context->weights[i].id == id && context->weights[i].device == device)
            return &context->weights[i];
    return NULL;
}

const tsri_run_weight *tsri_run_weight_next(const tsri_run_context *context,
                                            const tsri_run_weight *part) {
    const tsri_run_weight *next = part + 1;
    return next < context->weights + context->n_weights && next->id == part->id &&
                   next->device == part->device
               ? next
               : NULL;
}

const tsri_run_kv_state *tsri_run_state_find(const tsri_run_context *context, uint32_t id) {
    for (size_t i = 0; i < context->n_states; i++)
        if (context->states[i].id == id)
            return &context->states[i];
    return NULL;
}
