/* run/execute.c - prepares plans, and runs what this process has of them. */
#include "base/error.h"
#include "base/memory.h"
#include "graph/ops.h"
#include "run/context.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static tsr_status check_bounds(const tsr_bounds *bounds) {
    int64_t product = 1;
    for (int i = 0; i < TSR_SYMBOLS; i++)
        if (bounds->lowest[i] < 0 || bounds->highest[i] < bounds->lowest[i])
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "the bounds of a plan are %lld to %lld: the lowest must be at "
                                  "least 0 and not above the highest",
                                  (long long)bounds->lowest[i], (long long)bounds->highest[i]);
    for (int i = 0; i < TSR_SYMBOLS; i++) /* each entry of the dims table must fit int32 */
        if (!tsri_base_mul_i64(product, bounds->highest[i] > 1 ? bounds->highest[i] : 1,
                               &product) ||
            product > INT32_MAX)
            return tsri_base_fail(TSR_E_UNSUPPORTED,
                                  "a batch of %lld sequences of %lld tokens is more than one run "
                                  "can compute; use smaller batches",
                                  (long long)bounds->highest[0], (long long)bounds->highest[1]);
    return TSR_OK;
}

/* The plan for these bounds, laid out, perhaps not bound yet. */
static tsr_status plan_for(tsri_run_context *context, const tsri_graph *graph,
                           const tsr_bounds *bounds, tsri_run_plan **out) {
    tsri_run_placed *placed;
    tsri_run_plan *plan;
    TRY(check_bounds(bounds));
    TRY(tsri_run_placed_for(context, graph, bounds, &placed));
    TRY(tsri_run_states_for(context, placed));
    for (size_t i = 0; i < context->n_plans; i++)
        if (context->plans[i]->placed == placed &&
            !memcmp(context->plans[i]->bounds.lowest, bounds->lowest, sizeof bounds->lowest) &&
            !memcmp(context->plans[i]->bounds.highest, bounds->highest, sizeof bounds->highest)) {
            *out = context->plans[i];
            return TSR_OK;
        }
    TRY(tsri_run_check_results(context, placed, bounds));
    TRY(tsri_base_grow(&context->plans, &context->plans_room, context->n_plans + 1,
                       sizeof *context->plans));
    TRY(tsri_base_new(1, sizeof *plan, &plan));
    plan->context = context;
    plan->placed = placed;
    plan->bounds = *bounds;
    const tsr_status status = tsri_run_lay_out(plan);
    if (status != TSR_OK) {
        tsri_run_plan_destroy(&plan);
        return status;
    }
    context->plans[context->n_plans++] = plan;
    *out = plan;
    return TSR_OK;
}

tsr_status tsri_run_prepare(tsri_run_context *context, const tsri_graph *graph,
                            const tsr_bounds *bounds, tsri_run_plan **out) {
    TRY(plan_for(context, graph, bounds, out));
    return (*out)->bound && (*out)->moved == context->moved ? TSR_OK : tsri_run_bind(*out);
}

tsr_status tsri_run_announce(tsri_run_context *context, const tsri_graph *graph,
                             const tsr_bounds *bounds) {
    tsri_run_plan *plan;
    TRY(plan_for(context, graph, bounds, &plan));
    return plan->bound ? TSR_OK : tsri_run_tell(plan);
}

/* ---- a run ---- */

static const tsri_run_binding *binding_of(const tsri_run_binding *bindings, size_t n, uint32_t id) {
    for (size_t i = 0; i < n; i++)
        if (bindings[i].id == id)
            return &bindings[i];
    return NULL;
}

/* The place that holds an output of the graph; *mark is its mark. NULL: it has no such output. */
static const tsri_run_place *place_of(const tsri_run_plan *plan, uint32_t output,
                                      const tsri_graph_output_mark **mark) {
    const tsri_graph *graph = plan->placed->graph;
    *mark = NULL;
    for (size_t i = 0; i < tsri_graph_output_count(graph); i++)
        if (tsri_graph_output_at(graph, i)->id == output)
            *mark = tsri_graph_output_at(graph, i);
    if (!*mark)
        return NULL;
    const tsri_graph_value *v = tsri_graph_value_at(graph, (*mark)->value);
    const tsri_run_place *place = plan->places;
    while (place->storage != v->storage || place->device != plan->placed->device[v->producer])
        place++;
    return place;
}

/* Where in its place an output begins, in bytes. */
static uint64_t offset_of(const tsri_run_plan *plan, const tsri_graph_output_mark *mark) {
    const tsr_tensor *t = &tsri_graph_value_at(plan->placed->graph, mark->value)->tensor;
    uint64_t bytes = 0;
    tsri_tensor_bytes((tsr_dtype)t->dtype, (uint64_t)t->offset, &bytes);
    return bytes;
}

/* Where a device's block has an input; UINT64_MAX: the device does not read it. */
static uint64_t origin_of(const tsri_run_plan *plan, size_t device, uint32_t input) {
    const tsri_graph *graph = plan->placed->graph;
    const tsri_run_block *block = &plan->blocks[device];
    for (size_t i = 0; block->used && i < tsri_graph_value_count(graph); i++)
        if (block->origin[i] != UINT64_MAX &&
            tsri_graph_value_at(graph, (tsri_value)i)->id == input)
            return block->origin[i];
    return UINT64_MAX;
}

/* Copies an output of an earlier run to where this one reads it, if this device does. */
static tsr_status feed(const tsri_run_plan *plan, size_t device, const tsri_run_binding *input) {
    const uint64_t origin = origin_of(plan, device, input->id);
    if (origin == UINT64_MAX)
        return TSR_OK;
    const tsri_graph_output_mark *mark;
    const tsri_run_place *place = place_of(input->from, input->output, &mark);
    const tsr_transfer copy = {.struct_size = sizeof copy,
                               .kind = TSR_TRANSFER_COPY,
                               .dst = plan->blocks[device].buf,
                               .dst_offset = origin,
                               .src = place->buf,
                               .src_offset = offset_of(input->from, mark),
                               .bytes = input->bytes};
    return TSRI_RUN_CALL(&plan->context->slots[device], transfer, &copy, NULL, NULL);
}

static tsr_status write_block(tsri_run_plan *plan, size_t device, const int64_t sizes[TSR_SYMBOLS],
                              const tsri_run_binding *inputs, size_t n) {
    const tsri_graph *graph = plan->placed->graph;
    tsri_run_block *block = &plan->blocks[device];
    int32_t dims[TSR_SYMBOL_SETS];
    uint64_t used = sizeof dims;
    block->turn = !block->turn;
    unsigned char *mirror = block->mirror + (block->turn ? block->bytes : 0);
    tsri_tensor_dims_table(sizes, dims);
    memcpy(mirror, dims, sizeof dims);
    for (size_t i = 0; i < tsri_graph_value_count(graph); i++) {
        if (block->origin[i] == UINT64_MAX)
            continue;
        const tsri_graph_value *v = tsri_graph_value_at(graph, (tsri_value)i);
        const uint64_t bytes = tsri_tensor_extent(&v->tensor, sizes);
        const tsri_run_binding *input = binding_of(inputs, n, v->id);
        if (!input || input->bytes != bytes)
            return tsri_base_fail(TSR_E_ARGUMENT, "input %s: %zu bytes are given, %llu are needed",
                                  v->name, input ? input->bytes : (size_t)0,
                                  (unsigned long long)bytes);
        if (bytes && input->data) /* without elements there may be no memory */
            memcpy(mirror + block->origin[i], input->data, bytes);
        if (used < block->origin[i] + bytes)
            used = block->origin[i] + bytes;
    }
    const tsr_transfer write = {.struct_size = sizeof write,
                                .kind = TSR_TRANSFER_WRITE,
                                .dst = block->buf,
                                .bytes = used,
                                .host = mirror};
    TRY(TSRI_RUN_CALL(&plan->context->slots[device], transfer, &write, NULL, NULL));
    for (size_t i = 0; i < n; i++)
        if (inputs[i].from)
            TRY(feed(plan, device, &inputs[i]));
    return TSR_OK;
}

static tsr_status finish(const tsri_run_slot *slot, tsr_event *event) {
    const tsr_status status = slot->device->backend->event_wait(event, UINT64_MAX);
    slot->device->backend->event_destroy(event);
    return status;
}

static tsr_status start_read(const tsri_run_slot *slot, tsr_buf *src, uint64_t offset, void *host,
                             uint64_t bytes, tsr_event **event) {
    const tsr_transfer read = {.struct_size = sizeof read,
                               .kind = TSR_TRANSFER_READ,
                               .src = src,
                               .src_offset = offset,
                               .bytes = bytes,
                               .host = host};
    return TSRI_RUN_CALL(slot, transfer, &read, NULL, event);
}

static tsr_status read_back(const tsri_run_slot *slot, tsr_buf *src, uint64_t offset, void *host,
                            uint64_t bytes) {
    tsr_event *event = NULL;
    TRY(start_read(slot, src, offset, host, bytes, &event));
    return finish(slot, event);
}

/* Waits for the last one first: a device works in order, so the others have come by then. All are
 * waited for even after a failure, which is the result, because they write to the caller's memory. */
static tsr_status finish_reads(tsri_run_reads *reads, tsr_status status) {
    while (reads->n) {
        const tsr_status own = finish(reads->slots[reads->n - 1], reads->events[reads->n - 1]);
        status = status == TSR_OK ? own : status;
        reads->n--;
    }
    return status;
}

/* Copies the values that this segment reads and another device computed, by way of the host. */
static tsr_status bring_copies(tsri_run_plan *plan, size_t segment,
                               const int64_t sizes[TSR_SYMBOLS]) {
    for (size_t i = 0; i < plan->n_places; i++) {
        const tsri_run_place *to = &plan->places[i];
        if (to->ready != (int64_t)segment)
            continue;
        const tsri_run_place *from = &plan->places[to->from];
        const uint64_t bytes = tsri_tensor_extent(
            &tsri_graph_value_at(plan->placed->graph, to->storage)->tensor, sizes);
        const tsri_run_slot *slot = &plan->context->slots[to->device];
        tsr_event *event = NULL;
        TRY(read_back(&plan->context->slots[from->device], from->buf, 0, plan->staging, bytes));
        const tsr_transfer write = {.struct_size = sizeof write,
                                    .kind = TSR_TRANSFER_WRITE,
                                    .dst = to->buf,
                                    .bytes = bytes,
                                    .host = plan->staging};
        TRY(TSRI_RUN_CALL(slot, transfer, &write, NULL, &event));
        TRY(finish(slot, event));
    }
    return TSR_OK;
}

static tsr_status run_segments(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS]) {
    tsr_run run = {.struct_size = sizeof run};
    size_t whole = 0;
    memcpy(run.sizes, sizes, sizeof run.sizes);
    for (size_t i = 0; i < plan->n_segments; i++) {
        const tsri_run_segment *segment = &plan->segments[i];
        TRY(bring_copies(plan, i, sizes));
        TRY(plan->context->slots[segment->device].device->backend->plan_run(segment->plan, &run,
                                                                            NULL, NULL));
        for (; whole < segment->whole; whole++)
            TRY(plan->stops.whole(plan->stops.data, whole));
    }
    return TSR_OK;
}

static tsr_status start_output(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                               const tsri_run_binding *output, tsri_run_reads *reads) {
    const tsri_graph_output_mark *mark;
    const tsri_run_place *place = place_of(plan, output->id, &mark);
    if (!place)
        return tsri_base_fail(TSR_E_ARGUMENT, "output %u is not one of this graph's", output->id);
    tsr_tensor tensor = tsri_graph_value_at(plan->placed->graph, mark->value)->tensor;
    tensor.offset = 0;
    const uint64_t bytes = tsri_tensor_extent(&tensor, sizes);
    if (output->bytes != bytes)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "output %s: room for %zu bytes is given, %llu are needed", mark->name,
                              output->bytes, (unsigned long long)bytes);
    if (!bytes)
        return TSR_OK;
    if (reads->n == TSRI_RUN_READS)
        TRY(finish_reads(reads, TSR_OK));
    reads->slots[reads->n] = &plan->context->slots[place->device];
    TRY(start_read(reads->slots[reads->n], place->buf, offset_of(plan, mark), output->data, bytes,
                   &reads->events[reads->n]));
    reads->n++;
    return TSR_OK;
}

/* Waits for the devices, so that the host copies of the blocks and the caller's memory are free
 * when execute returns, even where no output was read. */
tsr_status tsri_run_drain(tsri_run_plan *plan) {
    for (size_t d = 0; d <= plan->context->options.n_devices; d++) {
        if (plan->blocks[d].used)
            TRY(read_back(&plan->context->slots[d], plan->blocks[d].buf, 0, plan->blocks[d].mirror,
                          4));
    }
    return TSR_OK;
}

bool tsri_run_feeds(const tsri_run_plan *plan, uint32_t output, uint32_t input) {
    const tsri_graph_output_mark *mark;
    const tsri_run_place *place = place_of(plan, output, &mark);
    if (!place || plan->context->options.ranks || !plan->bound ||
        plan->moved != plan->context->moved ||
        plan->context->slots[place->device].device->facts.type == TSR_DEVICE_CPU)
        return false;
    for (size_t d = 0; d <= plan->context->options.n_devices; d++)
        if (d != place->device && origin_of(plan, d, input) != UINT64_MAX)
            return false;
    return true;
}

/* Asks for all outputs before any is waited for, so a device is waited for once. */
tsr_status tsri_run_start_own(tsri_run_plan *plan, const int64_t sizes[TSR_SYMBOLS],
                              const tsri_run_binding *inputs, size_t n_inputs,
                              const tsri_run_binding *outputs, size_t n_outputs,
                              tsri_run_reads *reads) {
    *reads = (tsri_run_reads){0};
    for (int i = 0; i < TSR_SYMBOLS; i++)
        if (sizes[i] < plan->bounds.lowest[i] || sizes[i] > plan->bounds.highest[i])
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "size %d of the run is %lld; the plan is for %lld to %lld", i,
                                  (long long)sizes[i], (long long)plan->bounds.lowest[i],
                                  (long long)plan->bounds.highest[i]);
    if (!plan->bound || plan->moved != plan->context->moved)
        TRY(tsri_run_bind(plan));
    for (size_t d = 0; d <= plan->context->options.n_devices; d++)
        if (plan->blocks[d].used)
            TRY(write_block(plan, d, sizes, inputs, n_inputs));
    TRY(run_segments(plan, sizes));
    tsr_status status = TSR_OK;
    for (size_t i = 0; i < n_outputs && status == TSR_OK; i++)
        status = start_output(plan, sizes, &outputs[i], reads);
    return status == TSR_OK ? status : finish_reads(reads, status);
}

tsr_status tsri_run_finish_own(tsri_run_reads *reads) {
    return finish_reads(reads, TSR_OK);
}

/* ---- explain ---- */

size_t tsri_run_step_count(const tsri_run_plan *plan) {
    return tsri_graph_node_count(plan->placed->graph);
}

tsr_status tsri_run_step_at(const tsri_run_plan *plan, size_t i, tsri_run_step *out) {
    if (i >= tsri_run_step_count(plan))
        return tsri_base_fail(TSR_E_ARGUMENT, "step %zu was asked for; the plan has %zu", i,
                              tsri_run_step_count(plan));
    const tsri_graph_node *node = tsri_graph_node_at(plan->placed->graph, i);
    *out = (tsri_run_step){.label = node->label,
                           .op = tsri_graph_op_find(node->id)->name,
                           .device = plan->placed->device[i],
                           .note = plan->placed->note[i] ? plan->placed->note[i] : ""};
    return TSR_OK;
}

tsr_status tsri_run_step_variants(const tsri_run_plan *plan, size_t i, tsr_variant_visitor visit,
                                  void *data) {
    for (size_t s = 0; s < plan->n_segments; s++) {
        const tsri_run_segment *segment = &plan->segments[s];
        if (i >= segment->first && i < segment->first + segment->count && segment->plan)
            return plan->context->slots[segment->device].device->backend->plan_explain(
                segment->plan, segment->ops[i - segment->first], visit, data);
    }
    return tsri_base_fail(TSR_E_STATE, "step %zu belongs to a plan that is not bound", i);
}

static void add_launches(void *data, const tsr_variant *variant) {
    const bool tells = variant->struct_size >= offsetof(tsr_variant, launches) + sizeof(uint32_t);
    *(uint64_t *)data += tells ? variant->launches : variant->chosen;
}

tsr_status tsri_run_launches(const tsri_run_plan *plan, uint64_t *out) {
    *out = 0;
    for (size_t i = 0; i < tsri_run_step_count(plan); i++)
        TRY(tsri_run_step_variants(plan, i, add_launches, out));
    return TSR_OK;
}
