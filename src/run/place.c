/* run/place.c - which device runs which node.
 *
 * The layers are dealt to the devices by memory, in order (deal.c); nodes before the first layer go
 * with the first, nodes after the last with the last. A product takes the norm before it where the
 * device's best variant for both scores no less than that for the product alone: on GPUs a launch less,
 * while CPUs have no variant for both. An op that its device does not offer is
 * replaced by its decomposition, or given packed copies of its operands; else it runs on the reference
 * backend, and so does every op that uses a state which such an op uses.
 */
#include "base/error.h"
#include "base/memory.h"
#include "graph/ops.h"
#include "run/context.h"
#include "run/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct placing {
    tsri_run_context *context;
    const tsri_graph *graph;
    const tsr_bounds *bounds;
    uint32_t *moved; /* ids of the states on the reference backend: few, if any */
    size_t n_moved, moved_room;
} placing;

typedef struct offer {
    bool any, fits;
    char why[256];
} offer;

static void look(void *data, const tsr_variant *variant) {
    offer *o = data;
    o->any = true;
    o->fits |= variant->fits;
    if (!variant->fits && !*o->why)
        snprintf(o->why, sizeof o->why, "%s: %s", variant->name, variant->why);
}

/* Whether the device has a kernel variant for the op, or for the largest part of it where its weight
 * is more than one buffer of the device holds. */
static bool offered(const tsri_run_slot *slot, const tsri_graph *graph, const tsri_graph_node *node,
                    const tsr_op *op, const tsr_bounds *bounds, offer *found) {
    const tsr_facts *facts = &slot->device->facts;
    const int64_t rows = tsri_run_node_part_rows(facts, graph, node);
    tsri_run_part part;
    *found = (offer){0};
    if (rows < 0) {
        snprintf(found->why, sizeof found->why,
                 "its weight is larger than one buffer of the device, which is %llu MiB",
                 (unsigned long long)(facts->max_allocation >> 20));
        return false;
    }
    if (rows > 0)
        tsri_run_part_make(op, 0, rows, &part);
    tsr_op bounded = rows > 0 ? part.op : *op;
    bounded.bounds = bounds;
    if (TSRI_RUN_CALL(slot, op_variants, &bounded, look, found) != TSR_OK)
        snprintf(found->why, sizeof found->why, "%s", tsri_base_reported());
    return found->fits;
}

static size_t device_of_layer(const placing *p, int layer) {
    const size_t n = p->context->options.n_devices;
    size_t device = 0;
    if (n == 1)
        return 0;
    const int *ends = p->context->ends, last = ends[n - 1] - 1;
    layer = layer < 0 ? 0 : layer > last ? last : layer;
    while (device + 1 < n && layer >= ends[device])
        device++;
    return device;
}

static const tsr_tensor *state_of(const tsri_graph *graph, const tsri_graph_node *node, uint32_t i,
                                  uint32_t *id) {
    if (node->in[i] == TSRI_GRAPH_NONE)
        return NULL;
    const tsri_graph_value *v =
        tsri_graph_value_at(graph, tsri_graph_value_at(graph, node->in[i])->storage);
    *id = v->id;
    return v->tensor.kind == TSR_KIND_STATE ? &v->tensor : NULL;
}

static bool is_moved(const placing *p, uint32_t state) {
    for (size_t i = 0; i < p->n_moved; i++)
        if (p->moved[i] == state)
            return true;
    return false;
}

static tsr_status move(placing *p, uint32_t state) {
    TRY(tsri_base_grow(&p->moved, &p->moved_room, p->n_moved + 1, sizeof *p->moved));
    p->moved[p->n_moved++] = state;
    return TSR_OK;
}

static bool touches_moved_state(const placing *p, const tsri_graph *graph,
                                const tsri_graph_node *node) {
    uint32_t id;
    for (uint32_t i = 0; i < node->n_in; i++)
        if (state_of(graph, node, i, &id) && is_moved(p, id))
            return true;
    return false;
}

static bool keep_plain(void *data, const tsri_graph *graph, const tsri_graph_node *node,
                       const tsr_op *op) {
    const placing *p = data;
    offer found;
    return offered(&p->context->slots[device_of_layer(p, node->layer)], graph, node, op, p->bounds,
                   &found);
}

/* The same, but an op whose state is on the reference backend is not split. */
static bool keep(void *data, const tsri_graph *graph, const tsri_graph_node *node,
                 const tsr_op *op) {
    return touches_moved_state(data, graph, node) || keep_plain(data, graph, node, op);
}

/* Lowers once without the rule about states, and notes each state that some op can use only on the
 * reference. */
static tsr_status find_moved_states(placing *p) {
    tsri_graph *lowered;
    tsr_status status = TSR_OK;
    TRY(tsri_graph_lower(p->graph, keep_plain, p, &lowered));
    for (size_t i = 0; i < tsri_graph_node_count(lowered); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(lowered, i);
        tsri_graph_op_store store;
        uint32_t id;
        for (uint32_t j = 0; j < node->n_in && status == TSR_OK; j++)
            if (state_of(lowered, node, j, &id) && !is_moved(p, id) &&
                !keep_plain(p, lowered, node, tsri_graph_as_op(lowered, node, &store)))
                status = move(p, id);
    }
    tsri_graph_destroy(&lowered);
    /* one op may use two states (attention: keys and values): if one moves, the other must move
     * too */
    for (size_t before = SIZE_MAX; status == TSR_OK && before != p->n_moved;) {
        before = p->n_moved;
        for (size_t i = 0; i < tsri_graph_node_count(p->graph); i++) {
            const tsri_graph_node *node = tsri_graph_node_at(p->graph, i);
            uint32_t id;
            if (!touches_moved_state(p, p->graph, node))
                continue;
            for (uint32_t j = 0; j < node->n_in && status == TSR_OK; j++)
                if (state_of(p->graph, node, j, &id) && !is_moved(p, id))
                    status = move(p, id);
        }
    }
    return status;
}

static tsr_status assign(placing *p, tsri_run_placed *placed) {
    const size_t reference = p->context->options.n_devices;
    for (size_t i = 0; i < tsri_graph_node_count(placed->graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(placed->graph, i);
        const size_t device = device_of_layer(p, node->layer);
        const tsr_facts *facts = &p->context->slots[device].device->facts;
        const char *op_name = tsri_graph_op_find(node->id)->name;
        tsri_graph_op_store store;
        offer found;
        char note[512];
        placed->device[i] = device;
        const bool moved = touches_moved_state(p, placed->graph, node);
        if (!moved && offered(&p->context->slots[device], placed->graph, node,
                              tsri_graph_as_op(placed->graph, node, &store), p->bounds, &found))
            continue;
        if (moved)
            snprintf(note, sizeof note,
                     "%s/%s: %s runs on the reference backend, because its state is used there",
                     facts->platform, facts->name, op_name);
        else
            snprintf(note, sizeof note, "%s/%s: %s runs on the reference backend: %s",
                     facts->platform, facts->name, op_name,
                     *found.why ? found.why : "the backend does not offer this op");
        TRY(tsri_run_slot_open(p->context, reference));
        placed->device[i] = reference;
        placed->note[i] = tsri_base_copy_text(note, strlen(note));
        if (!placed->note[i])
            return TSR_E_HOST_MEMORY;
        bool said = false;
        for (size_t j = 0; j < i && !said; j++)
            said = placed->note[j] && !strcmp(placed->note[j], note);
        if (!said)
            tsri_run_log(p->context, TSR_LOG_WARNING, "%s", note);
    }
    return TSR_OK;
}

/* Forced kernel variants are those of the ops as they are. A weight in several buffers has an op for each. The
 * best variant for both may read a layout that a weight in plain rows does not have. */
static bool better_together(void *data, const tsri_graph *graph, const tsri_graph_node *product,
                            const tsri_graph_node *norm, const tsr_op *together,
                            const tsr_op *apart) {
    const placing *p = data;
    const size_t device = device_of_layer(p, product->layer);
    const tsr_op *ops[] = {together, apart};
    int32_t score[2];
    if ((p->context->options.kernels && *p->context->options.kernels) ||
        device != device_of_layer(p, norm->layer) ||
        tsri_run_node_part_rows(&p->context->slots[device].device->facts, graph, product) ||
        tsri_run_stays_plain(graph, product->in[tsri_run_part_operand(product->id)]))
        return false;
    for (int i = 0; i < 2; i++) {
        tsr_op bounded = *ops[i];
        bounded.bounds = p->bounds;
        if (tsri_run_best_score(p->context, device, &bounded, &score[i]) != TSR_OK)
            return false;
    }
    return score[0] >= 0 && score[0] >= score[1];
}

/* A kernel that takes no gaps between rows is offered a copy without them, before the op goes to the
 * reference backend; not on CPUs, where that costs a small op less than a copy does (a Qwen3 of 12 layers
 * while no kernel took its norms of heads, pocl on 2 cores: decode 28 tokens/s with the reference, 20 with
 * copies, prefill 291 and 350). */
static bool better_packed(void *data, const tsri_graph *graph, const tsri_graph_node *node,
                          const tsr_op *with_views, const tsr_op *with_copies) {
    const placing *p = data;
    const tsri_run_slot *slot = &p->context->slots[device_of_layer(p, node->layer)];
    offer found;
    return slot->device->facts.type != TSR_DEVICE_CPU && !touches_moved_state(p, graph, node) &&
           !offered(slot, graph, node, with_views, p->bounds, &found) &&
           offered(slot, graph, node, with_copies, p->bounds, &found);
}

static tsr_status place(tsri_run_context *context, const tsri_graph *graph,
                        const tsr_bounds *bounds, tsri_run_placed *placed) {
    placing p = {.context = context, .bounds = bounds};
    tsri_graph *own = NULL, *joined = NULL, *lowered = NULL;
    tsr_status status = TSR_OK;
    if (context->options.ranks) {
        status = tsri_run_split(context, graph, bounds, &placed->part, &own);
        graph = own;
    }
    if (status == TSR_OK)
        status = tsri_run_deal(context, graph, bounds);
    if (status == TSR_OK)
        status = tsri_graph_join_norms(graph, better_together, &p, &joined);
    p.graph = joined;
    if (status == TSR_OK)
        status = find_moved_states(&p);
    if (status == TSR_OK)
        status = tsri_graph_lower(joined, keep, &p, &lowered);
    if (status == TSR_OK)
        status = tsri_graph_pack_operands(lowered, better_packed, &p, &placed->graph);
    if (status == TSR_OK)
        status = tsri_base_new(tsri_graph_node_count(placed->graph), sizeof *placed->device,
                               &placed->device);
    if (status == TSR_OK)
        status = tsri_base_new(tsri_graph_node_count(placed->graph), sizeof *placed->note,
                               &placed->note);
    if (status == TSR_OK)
        status = assign(&p, placed);
    tsri_graph_destroy(&lowered);
    tsri_graph_destroy(&joined);
    tsri_graph_destroy(&own);
    free(p.moved);
    return status;
}

void tsri_run_placed_destroy(tsri_run_placed **placed) {
    tsri_run_placed *p = *placed;
    if (!p)
        return;
    for (size_t i = 0; p->note && i < tsri_graph_node_count(p->graph); i++)
        free(p->note[i]);
    free(p->note);
    free(p->device);
    tsri_graph_destroy(&p->graph);
    tsri_run_part_of_clear(&p->part);
    free(p);
    *placed = NULL;
}

tsr_status tsri_run_placed_for(tsri_run_context *context, const tsri_graph *graph,
                               const tsr_bounds *bounds, tsri_run_placed **out) {
    for (size_t i = 0; i < context->n_placed; i++)
        if (context->placed[i]->source == graph) {
            *out = context->placed[i];
            return TSR_OK;
        }
    tsri_run_placed *placed;
    TRY(tsri_graph_status(graph));
    TRY(tsri_base_grow(&context->placed, &context->placed_room, context->n_placed + 1,
                       sizeof *context->placed));
    TRY(tsri_base_new(1, sizeof *placed, &placed));
    placed->source = graph;
    const tsr_status status = place(context, graph, bounds, placed);
    if (status != TSR_OK) {
        tsri_run_placed_destroy(&placed);
        return status;
    }
    context->placed[context->n_placed++] = placed;
    *out = placed;
    return TSR_OK;
}
