/* run/layout.c - divides a placed graph into segments, and gives each value its place. */
#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"
#include "run/context.h"
#include "run/parts.h"
#include "tensor/shape.h"

#include <stdlib.h>
#include <string.h>

enum { DIMS_BYTES = TSR_SYMBOL_SETS * 4 };

static size_t slot_count(const tsri_run_context *context) {
    return context->options.n_devices + 1;
}

static uint64_t aligned(uint64_t bytes, uint32_t alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
}

static uint32_t alignment_of(const tsri_run_context *context, size_t device) {
    const uint32_t alignment =
        context->slots[device].device ? context->slots[device].device->facts.base_alignment : 0;
    return alignment < 64 ? 64 : alignment;
}

static bool is_storage_of(const tsri_graph *graph, size_t value, tsr_kind kind) {
    const tsri_graph_value *v = tsri_graph_value_at(graph, (tsri_value)value);
    return v->storage == (tsri_value)value && v->tensor.kind == (uint32_t)kind;
}

/* behind[i]: the node behind the last that uses a state of bucket i, or of one before it. */
static tsr_status find_stops(tsri_run_plan *plan, size_t **behind) {
    const tsri_run_context *context = plan->context;
    for (size_t i = 0; i < context->n_stopping; i++)
        if (context->stopping[i].graph == plan->placed->source)
            plan->stops = context->stopping[i].stops;
    const tsri_run_stops *stops = &plan->stops;
    TRY(tsri_base_new(stops->n + 1, sizeof **behind, behind));
    if (stops->n)
        tsri_graph_last_uses(plan->placed->graph, stops->bucket_of, stops->data, stops->n, *behind);
    for (size_t i = 1; i < stops->n; i++)
        if ((*behind)[i] < (*behind)[i - 1])
            (*behind)[i] = (*behind)[i - 1];
    return TSR_OK;
}

/* A segment ends where the device changes, and at each stop. */
static tsr_status cut(tsri_run_plan *plan) {
    const tsri_run_placed *placed = plan->placed;
    const size_t n = tsri_graph_node_count(placed->graph);
    size_t *behind = NULL, whole = 0;
    bool stop = false;
    TRY(tsri_base_new(n, sizeof *plan->segments, &plan->segments));
    TRY(find_stops(plan, &behind));
    for (size_t i = 0; i < n; i++) {
        tsri_run_segment *last = plan->n_segments ? &plan->segments[plan->n_segments - 1] : NULL;
        if (!last || last->device != placed->device[i] || stop) {
            last = &plan->segments[plan->n_segments++];
            *last = (tsri_run_segment){.device = placed->device[i], .first = i};
        }
        last->count++;
        while (whole < plan->stops.n && behind[whole] <= i + 1)
            whole++;
        last->whole = whole;
        stop = whole && behind[whole - 1] == i + 1;
    }
    free(behind);
    return TSR_OK;
}

static size_t find_place(const tsri_run_plan *plan, tsri_value storage, size_t device) {
    size_t i = 0;
    while (i < plan->n_places &&
           (plan->places[i].storage != storage || plan->places[i].device != device))
        i++;
    return i;
}

static size_t add_place(tsri_run_plan *plan, tsri_value storage, size_t device, int64_t ready,
                        size_t from) {
    const size_t old = find_place(plan, storage, device);
    if (old < plan->n_places)
        return old;
    plan->places[plan->n_places] =
        (tsri_run_place){.storage = storage, .device = device, .ready = ready, .from = from};
    plan->places[plan->n_places].bytes =
        aligned(tsri_tensor_extent(&tsri_graph_value_at(plan->placed->graph, storage)->tensor,
                                   plan->bounds.highest),
                64);
    return plan->n_places++;
}

/* Outputs, and values that cross devices, get buffers of their own. */
static tsr_status find_places(tsri_run_plan *plan) {
    const tsri_graph *graph = plan->placed->graph;
    TRY(tsri_base_new(tsri_graph_output_count(graph) +
                          tsri_graph_node_count(graph) * TSRI_GRAPH_MAX_OPERANDS * 2,
                      sizeof *plan->places, &plan->places));
    for (size_t i = 0; i < tsri_graph_output_count(graph); i++) {
        const tsri_graph_value *v =
            tsri_graph_value_at(graph, tsri_graph_output_at(graph, i)->value);
        if (v->producer < 0)
            return tsri_base_fail(TSR_E_ARGUMENT,
                                  "output %s is a leaf; an output must be the result of an op",
                                  tsri_graph_output_at(graph, i)->name);
        add_place(plan, v->storage, plan->placed->device[v->producer], -1, 0);
    }
    for (size_t s = 0; s < plan->n_segments; s++)
        for (size_t i = plan->segments[s].first;
             i < plan->segments[s].first + plan->segments[s].count; i++) {
            const tsri_graph_node *node = tsri_graph_node_at(graph, i);
            for (uint32_t j = 0; j < node->n_in; j++) {
                const tsri_graph_value *v =
                    node->in[j] == TSRI_GRAPH_NONE ? NULL : tsri_graph_value_at(graph, node->in[j]);
                if (!v || v->producer < 0 ||
                    plan->placed->device[v->producer] == plan->segments[s].device)
                    continue;
                const size_t from =
                    add_place(plan, v->storage, plan->placed->device[v->producer], -1, 0);
                const size_t to =
                    add_place(plan, v->storage, plan->segments[s].device, (int64_t)s, from);
                if (plan->places[to].bytes > plan->staging_bytes)
                    plan->staging_bytes = plan->places[to].bytes;
            }
        }
    return plan->staging_bytes ? tsri_base_new_aligned(plan->staging_bytes, &plan->staging)
                               : TSR_OK;
}

/* The dims table, then each input that some op of this device reads. */
static tsr_status lay_out_block(tsri_run_plan *plan, size_t device) {
    const tsri_graph *graph = plan->placed->graph;
    tsri_run_block *block = &plan->blocks[device];
    TRY(tsri_base_new(tsri_graph_value_count(graph), sizeof *block->origin, &block->origin));
    for (size_t i = 0; i < tsri_graph_value_count(graph); i++)
        block->origin[i] = UINT64_MAX;
    const uint32_t alignment = alignment_of(plan->context, device);
    block->bytes = aligned(DIMS_BYTES, alignment);
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        if (plan->placed->device[i] != device)
            continue;
        block->used = true;
        for (uint32_t j = 0; j < node->n_in; j++) {
            const tsri_value storage = node->in[j] == TSRI_GRAPH_NONE
                                           ? 0
                                           : tsri_graph_value_at(graph, node->in[j])->storage;
            if (node->in[j] == TSRI_GRAPH_NONE ||
                !is_storage_of(graph, (size_t)storage, TSR_KIND_INPUT) ||
                block->origin[storage] != UINT64_MAX)
                continue;
            block->origin[storage] = block->bytes;
            block->bytes += aligned(tsri_tensor_extent(&tsri_graph_value_at(graph, storage)->tensor,
                                                       plan->bounds.highest),
                                    alignment);
        }
    }
    if (!block->used)
        block->bytes = 0;
    return block->used ? tsri_base_new(2, block->bytes, &block->mirror) : TSR_OK;
}

/* Marks the values that are in no arena of this device. */
static tsr_status mark_pinned(const tsri_run_placed *placed, size_t device, bool **out) {
    const tsri_graph *graph = placed->graph;
    TRY(tsri_base_new(tsri_graph_value_count(graph), sizeof **out, out));
    for (size_t i = 0; i < tsri_graph_value_count(graph); i++) {
        const tsri_graph_value *v = tsri_graph_value_at(graph, (tsri_value)i);
        (*out)[i] = v->producer >= 0 && placed->device[v->producer] != device;
    }
    for (size_t i = 0; i < tsri_graph_output_count(graph); i++)
        (*out)[tsri_graph_value_at(graph, tsri_graph_output_at(graph, i)->value)->storage] = true;
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        for (uint32_t j = 0; j < node->n_in; j++) {
            const tsri_graph_value *v =
                node->in[j] == TSRI_GRAPH_NONE ? NULL : tsri_graph_value_at(graph, node->in[j]);
            if (v && v->producer >= 0 && placed->device[v->producer] != placed->device[i])
                (*out)[v->storage] = true;
        }
    }
    return TSR_OK;
}

static tsr_status plan_arenas(tsri_run_context *context, const tsri_run_placed *placed,
                              const tsr_bounds *bounds, size_t device, tsri_graph_memory *memory) {
    const tsri_backend_device *opened = context->slots[device].device;
    bool *pinned = NULL;
    tsr_status status = mark_pinned(placed, device, &pinned);
    if (status == TSR_OK)
        status =
            tsri_graph_plan_memory(placed->graph, bounds, pinned, alignment_of(context, device),
                                   opened ? opened->facts.max_allocation : 0, memory);
    free(pinned);
    return status;
}

tsr_status tsri_run_arena_bytes(tsri_run_context *context, const tsri_run_placed *placed,
                                const tsr_bounds *bounds, size_t device, uint64_t *bytes) {
    tsri_graph_memory memory;
    TRY(plan_arenas(context, placed, bounds, device, &memory));
    *bytes = memory.bytes;
    tsri_graph_memory_clear(&memory);
    return TSR_OK;
}

static tsr_status allocate(tsri_run_plan *plan) {
    for (size_t i = 0; i < plan->n_places; i++)
        TRY(tsri_run_buffer(plan->context, plan->places[i].device, TSR_KIND_ACTIVATION,
                            plan->places[i].bytes, "a result", &plan->places[i].buf));
    for (size_t d = 0; d < slot_count(plan->context); d++)
        if (plan->blocks[d].used)
            TRY(tsri_run_buffer(plan->context, d, TSR_KIND_INPUT, plan->blocks[d].bytes, "inputs",
                                &plan->blocks[d].buf));
    return TSR_OK;
}

tsr_status tsri_run_lay_out(tsri_run_plan *plan) {
    const size_t n = slot_count(plan->context);
    TRY(tsri_base_new(n, sizeof *plan->blocks, &plan->blocks));
    TRY(tsri_base_new(n, sizeof *plan->memory, &plan->memory));
    TRY(cut(plan));
    TRY(find_places(plan));
    for (size_t d = 0; d < n; d++) {
        TRY(lay_out_block(plan, d));
        if (plan->blocks[d].used)
            TRY(plan_arenas(plan->context, plan->placed, &plan->bounds, d, &plan->memory[d]));
    }
    TRY(tsri_run_messages_make(plan));
    return allocate(plan);
}

void tsri_run_plan_destroy(tsri_run_plan **plan) {
    tsri_run_plan *p = *plan;
    if (!p)
        return;
    if (p->segments)
        tsri_run_unbind(p);
    for (size_t i = 0; p->places && i < p->n_places; i++)
        tsri_run_buffer_drop(p->context, p->places[i].device, &p->places[i].buf);
    for (size_t d = 0; p->blocks && d < slot_count(p->context); d++) {
        tsri_run_buffer_drop(p->context, d, &p->blocks[d].buf);
        free(p->blocks[d].mirror);
        free(p->blocks[d].origin);
    }
    for (size_t d = 0; p->memory && d < slot_count(p->context); d++)
        tsri_graph_memory_clear(&p->memory[d]);
    for (size_t i = 0; p->segments && i < p->n_segments; i++)
        free(p->segments[i].ops);
    free(p->segments);
    free(p->places);
    free(p->blocks);
    free(p->memory);
    tsri_system_free_aligned(p->staging);
    tsri_run_messages_drop(p);
    free(p);
    *plan = NULL;
}

/* ---- binding ---- */

/* Finds the memory of a storage on a device: its own buffer, the inputs, a weight, a state, or an
 * arena. */
static tsr_status locate(const tsri_run_plan *plan, tsri_value storage, size_t device,
                         tsr_tensor *tensor) {
    const tsri_graph_value *v = tsri_graph_value_at(plan->placed->graph, storage);
    const size_t place = find_place(plan, storage, device);
    const tsri_graph_memory *memory = &plan->memory[device];
    const tsri_run_weight *weight;
    const tsri_run_kv_state *state;
    tensor->origin = 0;
    if (place < plan->n_places) {
        tensor->buf = plan->places[place].buf;
        return TSR_OK;
    }
    switch (v->tensor.kind) {
    case TSR_KIND_INPUT:
        tensor->buf = plan->blocks[device].buf;
        tensor->origin = plan->blocks[device].origin[storage];
        return TSR_OK;
    case TSR_KIND_WEIGHT:
        weight = tsri_run_weight_find(plan->context, v->id, device);
        if (!weight)
            return tsri_base_fail(TSR_E_STATE, "weight %s was not loaded", v->name);
        tensor->buf = weight->buf;
        tensor->layout = weight->layout.id;
        tensor->dtype = weight->layout.dtype;
        return TSR_OK;
    case TSR_KIND_STATE:
        state = tsri_run_state_find(plan->context, v->id);
        tensor->buf = state->buf;
        return TSR_OK;
    default:
        tensor->buf =
            plan->context->slots[device].arenas[memory->origin[storage] / memory->limit].buf;
        tensor->origin = memory->origin[storage] % memory->limit;
        return TSR_OK;
    }
}

typedef struct bound_ops { /* what one plan_create is given */
    tsri_graph_op_store *stores;
    tsr_tensor *tensors;
    const tsr_op **pointers;
    tsri_run_part *parts; /* ops whose weights are in parts */
    size_t n, n_parts;    /* so far: of pointers, of parts */
} bound_ops;

/* The first part of the weight that the node reads in parts; NULL: it reads none so. */
static const tsri_run_weight *first_part(const tsri_run_plan *plan, size_t device,
                                         const tsri_graph_node *node) {
    const tsri_graph *graph = plan->placed->graph;
    const tsr_facts *facts = &plan->context->slots[device].device->facts;
    if (tsri_run_node_part_rows(facts, graph, node) <= 0)
        return NULL;
    const tsri_value operand = node->in[tsri_run_part_operand(node->id)],
                     leaf = tsri_graph_value_at(graph, operand)->storage;
    return tsri_run_weight_find(plan->context, tsri_graph_value_at(graph, leaf)->id, device);
}

/* The number of ops of the plan, and how many of them are parts of an op. */
static void count_ops(const tsri_run_plan *plan, const tsri_run_segment *segment, size_t *n,
                      size_t *n_parts) {
    *n = *n_parts = 0;
    for (size_t i = 0; i < segment->count; i++) {
        const tsri_run_weight *part = first_part(
            plan, segment->device, tsri_graph_node_at(plan->placed->graph, segment->first + i));
        *n += !part;
        for (; part; part = tsri_run_weight_next(plan->context, part)) {
            ++*n;
            ++*n_parts;
        }
    }
}

/* Adds the op, or one op for each part of its weight. */
static void add_op(const tsri_run_plan *plan, const tsri_run_segment *segment,
                   const tsri_graph_node *node, const tsr_op *op, bound_ops *ops) {
    const tsri_run_weight *part = first_part(plan, segment->device, node);
    if (!part)
        ops->pointers[ops->n++] = op;
    for (; part; part = tsri_run_weight_next(plan->context, part)) {
        tsri_run_part *made = &ops->parts[ops->n_parts++];
        tsri_run_part_make(op, part->first, part->layout.rows, made);
        made->weight.buf = part->buf;
        made->weight.layout = part->layout.id;
        ops->pointers[ops->n++] = &made->op;
    }
}

static tsr_status bind_ops(const tsri_run_plan *plan, tsri_run_segment *segment, bound_ops *ops) {
    const tsri_graph *graph = plan->placed->graph;
    size_t used = 0, n, n_parts;
    count_ops(plan, segment, &n, &n_parts);
    TRY(tsri_base_new(segment->count, sizeof *ops->stores, &ops->stores));
    TRY(tsri_base_new(segment->count * 2 * TSRI_GRAPH_MAX_OPERANDS, sizeof *ops->tensors,
                      &ops->tensors));
    TRY(tsri_base_new(n, sizeof *ops->pointers, &ops->pointers));
    TRY(tsri_base_new(n_parts + 1, sizeof *ops->parts, &ops->parts));
    if (!segment->ops)
        TRY(tsri_base_new(segment->count + 1, sizeof *segment->ops, &segment->ops));
    for (size_t i = 0; i < segment->count; i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, segment->first + i);
        tsri_graph_op_store *store = &ops->stores[i];
        tsri_graph_as_op(graph, node, store);
        store->op.bounds = &plan->bounds;
        for (uint32_t j = 0; j < node->n_in + node->n_out; j++) {
            const bool input = j < node->n_in;
            const tsri_value value = input ? node->in[j] : node->out[j - node->n_in];
            if (value == TSRI_GRAPH_NONE)
                continue;
            tsr_tensor *tensor = &ops->tensors[used++];
            *tensor = tsri_graph_value_at(graph, value)->tensor;
            TRY(locate(plan, tsri_graph_value_at(graph, value)->storage, segment->device, tensor));
            *(input ? &store->in[j] : &store->out[j - node->n_in]) = tensor;
        }
        segment->ops[i] = ops->n;
        add_op(plan, segment, node, &store->op, ops);
    }
    segment->ops[segment->count] = ops->n;
    return TSR_OK;
}

static const tsr_backend_ahead *ahead_of(const tsri_run_context *context, size_t device) {
    return device < context->options.n_devices
               ? tsri_backend_extension(context->options.set, context->slots[device].device->entry,
                                        "tsr.ahead/1")
               : NULL;
}

/* Makes the segment's plan; or with `ahead`, only tells the backend that it will be made. */
static tsr_status bind_segment(tsri_run_plan *plan, tsri_run_segment *segment,
                               const tsr_backend_ahead *ahead) {
    tsri_run_context *context = plan->context;
    bound_ops ops = {0};
    tsr_status status = bind_ops(plan, segment, &ops);
    if (status == TSR_OK) {
        const tsr_plan_spec spec = {.struct_size = sizeof spec,
                                    .n_ops = (uint32_t)ops.n,
                                    .ops = ops.pointers,
                                    .bounds = &plan->bounds,
                                    .dims = plan->blocks[segment->device].buf,
                                    .kernels = segment->device < context->options.n_devices
                                                   ? context->options.kernels
                                                   : NULL};
        status = ahead ? ahead->plan_announce(context->slots[segment->device].device->dev, &spec)
                       : TSRI_RUN_CALL(&context->slots[segment->device], plan_create, &spec,
                                       &segment->plan);
    }
    free(ops.stores);
    free(ops.tensors);
    free(ops.pointers);
    free(ops.parts);
    return status;
}

void tsri_run_unbind(tsri_run_plan *plan) {
    tsri_run_profile_keep(plan);
    for (size_t i = 0; i < plan->n_segments; i++) {
        if (plan->segments[i].plan)
            plan->context->slots[plan->segments[i].device].device->backend->plan_destroy(
                plan->segments[i].plan);
        plan->segments[i].plan = NULL;
    }
    plan->bound = false;
}

static bool holds(const tsri_run_slot *slot, const tsri_graph_memory *memory, size_t arena) {
    return arena < slot->n_arenas && slot->arenas[arena].buf &&
           slot->arenas[arena].bytes >= memory->arenas[arena];
}

/* Those that are too small go before any is made, as there may be no room for both. */
static tsr_status grow_arenas_of(tsri_run_context *context, size_t device,
                                 const tsri_graph_memory *memory) {
    tsri_run_slot *slot = &context->slots[device];
    size_t held = 0;
    while (held < memory->n_arenas && holds(slot, memory, held))
        held++;
    if (held == memory->n_arenas)
        return TSR_OK;
    TRY(tsri_base_grow(&slot->arenas, &slot->arenas_room, memory->n_arenas, sizeof *slot->arenas));
    /* No plan may point to an arena that is replaced */
    for (size_t i = 0; i < context->n_plans; i++)
        tsri_run_unbind(context->plans[i]);
    for (size_t i = held; i < slot->n_arenas && i < memory->n_arenas; i++)
        if (!holds(slot, memory, i)) {
            tsri_run_buffer_drop(context, device, &slot->arenas[i].buf);
            slot->arenas[i].bytes = 0;
        }
    if (slot->n_arenas < memory->n_arenas)
        slot->n_arenas = memory->n_arenas;
    for (size_t i = held; i < memory->n_arenas; i++) {
        if (holds(slot, memory, i))
            continue;
        TRY(tsri_run_buffer(context, device, TSR_KIND_ACTIVATION, memory->arenas[i], "activations",
                            &slot->arenas[i].buf));
        slot->arenas[i].bytes = memory->arenas[i];
    }
    context->moved++;
    return TSR_OK;
}

static tsr_status grow_arenas(tsri_run_plan *plan) {
    for (size_t d = 0; d < slot_count(plan->context); d++)
        if (plan->blocks[d].used)
            TRY(grow_arenas_of(plan->context, d, &plan->memory[d]));
    return TSR_OK;
}

tsr_status tsri_run_tell(tsri_run_plan *plan) {
    TRY(grow_arenas(plan));
    for (size_t i = 0; i < plan->n_segments; i++) {
        const tsr_backend_ahead *ahead = ahead_of(plan->context, plan->segments[i].device);
        if (ahead)
            TRY(bind_segment(plan, &plan->segments[i], ahead));
    }
    return TSR_OK;
}

tsr_status tsri_run_bind(tsri_run_plan *plan) {
    tsri_run_unbind(plan);
    TRY(grow_arenas(plan));
    for (size_t i = 0; i < plan->n_segments; i++)
        TRY(bind_segment(plan, &plan->segments[i], NULL));
    plan->moved = plan->context->moved;
    plan->bound = true;
    return TSR_OK;
}
