/* run/profile.c - what devices measured, summed by (device, op, kernel) over the plans of a
 * context, also over those that were destroyed. */
#include "run/context.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "graph/ops.h"

#include <stdlib.h>
#include <string.h>

static tsri_run_profile_entry *find(tsri_run_measured *in, const tsri_run_profile_entry *like) {
    for (size_t i = 0; i < in->n; i++)
        if (in->entries[i].device == like->device && !strcmp(in->entries[i].op, like->op) &&
            !strcmp(in->entries[i].kernel, like->kernel))
            return &in->entries[i];
    if (tsri_base_grow(&in->entries, &in->room, in->n + 1, sizeof *in->entries) != TSR_OK)
        return NULL;
    char *kernel = tsri_base_copy_text(like->kernel, strlen(like->kernel));
    if (!kernel)
        return NULL;
    in->entries[in->n] =
        (tsri_run_profile_entry){.device = like->device, .op = like->op, .kernel = kernel};
    return &in->entries[in->n++];
}

static void add(tsri_run_measured *to, const tsri_run_profile_entry *entry) {
    tsri_run_profile_entry *sum = to->status == TSR_OK ? find(to, entry) : NULL;
    if (!sum) {
        to->status = to->status == TSR_OK ? TSR_E_HOST_MEMORY : to->status;
        return;
    }
    sum->launches += entry->launches;
    sum->nanoseconds += entry->nanoseconds;
    sum->enqueue_nanoseconds += entry->enqueue_nanoseconds;
}

typedef struct gathering {
    const tsri_run_plan *plan;
    const tsri_run_segment *segment;
    tsri_run_measured *to;
} gathering;

static void add_measured(void *data, const tsr_profile_entry *entry) {
    const gathering *g = data;
    size_t i = 0;
    while (g->segment->ops[i + 1] <= entry->op)
        i++;
    const tsri_graph_node *node = tsri_graph_node_at(g->plan->placed->graph, g->segment->first + i);
    if (entry->launches)
        add(g->to, &(tsri_run_profile_entry){.device = g->segment->device,
                                             .op = tsri_graph_op_find(node->id)->name,
                                             .kernel = entry->kernel,
                                             .launches = entry->launches,
                                             .nanoseconds = entry->nanoseconds,
                                             .enqueue_nanoseconds = entry->enqueue_nanoseconds});
}

static void gather(const tsri_run_plan *plan, tsri_run_measured *to) {
    for (size_t i = 0; i < plan->n_segments && to->status == TSR_OK; i++) {
        const tsri_run_segment *segment = &plan->segments[i];
        gathering g = {.plan = plan, .segment = segment, .to = to};
        const tsri_run_slot *slot = &plan->context->slots[segment->device];
        const tsr_status status =
            segment->plan ? slot->device->backend->plan_profile(segment->plan, add_measured, &g)
                          : TSR_OK;
        if (status != TSR_OK)
            to->status = status;
    }
}

void tsri_run_profile_keep(tsri_run_plan *plan) {
    gather(plan, &plan->context->past);
}

void tsri_run_profile_clear(tsri_run_measured *measured) {
    for (size_t i = 0; i < measured->n; i++)
        free((char *)measured->entries[i].kernel);
    free(measured->entries);
    *measured = (tsri_run_measured){0};
}

tsr_status tsri_run_profile(tsri_run_context *context,
                            void (*visit)(void *data, const tsri_run_profile_entry *entry),
                            void *data) {
    const tsri_run_measured *past = &context->past;
    tsri_run_measured all = {.status = past->status};
    for (size_t i = 0; i < past->n; i++)
        add(&all, &past->entries[i]);
    for (size_t i = 0; i < context->n_plans; i++)
        gather(context->plans[i], &all);
    for (size_t i = 0; i < all.n && all.status == TSR_OK; i++)
        visit(data, &all.entries[i]);
    const tsr_status status = all.status;
    tsri_run_profile_clear(&all);
    return status;
}
