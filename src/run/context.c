/* run/context.c - creates a context, makes it forget a graph, tells how much memory it uses, and
 * destroys it. */
#include "run/context.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

tsr_status tsri_run_create(const tsri_run_options *options, tsri_run_context **out) {
    tsri_run_context *c;
    if (!options->n_devices)
        return tsri_base_fail(TSR_E_ARGUMENT, "a run needs at least one device");
    TRY(tsri_base_new(1, sizeof *c, &c));
    const tsr_status status = tsri_base_new(options->n_devices + 1, sizeof *c->slots, &c->slots);
    if (status != TSR_OK) {
        free(c);
        return status;
    }
    c->options = *options;
    for (size_t i = 0; i < options->n_devices; i++)
        c->slots[i].device = options->devices[i];
    *out = c;
    return TSR_OK;
}

uint32_t tsri_run_rank_count(const tsri_run_context *context) {
    return tsri_ranks_size(context->options.ranks);
}

size_t tsri_run_device_count(const tsri_run_context *context) {
    return context->options.n_devices;
}

void tsri_run_destroy(tsri_run_context **context) {
    tsri_run_context *c = *context;
    if (!c)
        return;
    for (size_t i = 0; i < c->n_plans; i++)
        tsri_run_plan_destroy(&c->plans[i]);
    for (size_t i = 0; i < c->n_placed; i++)
        tsri_run_placed_destroy(&c->placed[i]);
    for (size_t i = 0; i < c->n_weights; i++)
        if (!c->weights[i].borrowed)
            tsri_run_buffer_drop(c, c->weights[i].device, &c->weights[i].buf);
    for (size_t i = 0; i < c->n_states; i++)
        tsri_run_buffer_drop(c, c->states[i].device, &c->states[i].buf);
    for (size_t i = 0; i <= c->options.n_devices; i++) {
        for (size_t a = 0; a < c->slots[i].n_arenas; a++)
            tsri_run_buffer_drop(c, i, &c->slots[i].arenas[a].buf);
        free(c->slots[i].arenas);
    }
    tsri_backend_device_close(&c->reference);
    tsri_run_profile_clear(&c->past);
    free(c->ends);
    free(c->rank_ends);
    free(c->plans);
    free(c->stopping);
    free(c->placed);
    free(c->weights);
    free(c->states);
    free(c->slots);
    free(c);
    *context = NULL;
}

tsr_status tsri_run_stop(tsri_run_context *context, const tsri_graph *graph,
                         const tsri_run_stops *stops) {
    TRY(tsri_base_grow(&context->stopping, &context->stopping_room, context->n_stopping + 1,
                       sizeof *context->stopping));
    context->stopping[context->n_stopping++] = (tsri_run_stopping){graph, *stops};
    return TSR_OK;
}

void tsri_run_forget(tsri_run_context *context, const tsri_graph *graph) {
    size_t kept = 0;
    for (size_t i = 0; i < context->n_stopping; i++)
        if (context->stopping[i].graph != graph)
            context->stopping[kept++] = context->stopping[i];
    context->n_stopping = kept;
    kept = 0;
    for (size_t i = 0; i < context->n_plans; i++)
        if (context->plans[i]->placed->source == graph)
            tsri_run_plan_destroy(&context->plans[i]);
        else
            context->plans[kept++] = context->plans[i];
    context->n_plans = kept;
    kept = 0;
    for (size_t i = 0; i < context->n_placed; i++)
        if (context->placed[i]->source == graph)
            tsri_run_placed_destroy(&context->placed[i]);
        else
            context->placed[kept++] = context->placed[i];
    context->n_placed = kept;
}

void tsri_run_memory_of(const tsri_run_context *context, tsri_run_memory *out) {
    *out = (tsri_run_memory){0};
    for (size_t i = 0; i < context->n_weights; i++)
        out->weights += context->weights[i].borrowed ? 0 : context->weights[i].layout.bytes;
    for (size_t i = 0; i < context->n_states; i++)
        out->states += context->states[i].bytes;
    for (size_t i = 0; i <= context->options.n_devices; i++)
        for (size_t a = 0; a < context->slots[i].n_arenas; a++)
            out->arena += context->slots[i].arenas[a].bytes;
    for (size_t i = 0; i < context->n_plans; i++) {
        for (size_t d = 0; d <= context->options.n_devices; d++)
            out->inputs += context->plans[i]->blocks[d].bytes;
        for (size_t p = 0; p < context->plans[i]->n_places; p++)
            out->inputs += context->plans[i]->places[p].bytes;
    }
}
