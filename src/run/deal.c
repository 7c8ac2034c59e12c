/* run/deal.c - which layers run on which device, or on which rank (split.c), by memory.
 *
 * Devices of one kind get equal shares of the layers' bytes (weights, keys and values), but none
 * more than it holds, and those that share the host's memory no more together than that. GPUs and
 * accelerators come before CPUs: those get what is left. Layers stay in order. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "run/context.h"
#include "tensor/shape.h"

#include <stdio.h>
#include <stdlib.h>

/* The last 32nd of a device's memory is for what no list has: kernels, padded rows, the driver. */
enum { KEPT_FREE = 32 };

typedef struct dealing {
    const tsri_run_holder *holders; /* devices, or ranks */
    size_t n;
    int layers;       /* of the graph */
    uint64_t *cost;   /* of each layer, in bytes; what comes before them is the first one's */
    uint64_t *room;   /* of each holder: what it holds of the layers */
    uint64_t *target; /* of each holder: its share */
    uint64_t pool;    /* what those that share the host's memory hold together */
    uint64_t total;   /* of all layers */
} dealing;

static void drop(dealing *d) {
    free(d->cost);
    free(d->room);
    free(d->target);
}

static int layer_of(const tsri_graph_node *node) {
    return node->layer > 0 ? node->layer : 0;
}

static uint64_t leaf_bytes(const tsr_tensor *tensor, const tsr_bounds *bounds) {
    tsr_layout plain;
    if (tensor->kind == TSR_KIND_STATE)
        return tsri_tensor_extent(tensor, bounds->highest);
    tsri_run_plain_layout(tensor, &plain);
    return plain.bytes;
}

/* Adds up what each layer reads: a leaf counts once for each layer that uses it. */
static tsr_status add_costs(dealing *d, const tsri_graph *graph, const tsr_bounds *bounds) {
    int *seen = NULL;
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++)
        if (layer_of(tsri_graph_node_at(graph, i)) >= d->layers)
            d->layers = layer_of(tsri_graph_node_at(graph, i)) + 1;
    TRY(tsri_base_new((size_t)d->layers + 1, sizeof *d->cost, &d->cost));
    TRY(tsri_base_new(tsri_graph_value_count(graph) + 1, sizeof *seen, &seen));
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        const int layer = layer_of(node);
        for (uint32_t j = 0; j < node->n_in; j++) {
            if (node->in[j] == TSRI_GRAPH_NONE)
                continue;
            const tsri_value storage = tsri_graph_value_at(graph, node->in[j])->storage;
            const tsr_tensor *tensor = &tsri_graph_value_at(graph, storage)->tensor;
            if ((tensor->kind != TSR_KIND_WEIGHT && tensor->kind != TSR_KIND_STATE) ||
                seen[storage] == layer + 1)
                continue;
            seen[storage] = layer + 1;
            d->cost[layer] += leaf_bytes(tensor, bounds);
        }
    }
    for (int i = 0; i < d->layers; i++)
        d->total += d->cost[i];
    free(seen);
    return TSR_OK;
}

/* What the graph's activations need at most on one device. */
static tsr_status arena_bytes(const tsri_graph *graph, const tsr_bounds *bounds, uint64_t *bytes) {
    tsri_graph_memory memory;
    bool *pinned = NULL;
    TRY(tsri_base_new(tsri_graph_value_count(graph) + 1, sizeof *pinned, &pinned));
    const tsr_status status = tsri_graph_plan_memory(graph, bounds, pinned, 64, 0, &memory);
    free(pinned);
    TRY(status);
    *bytes = memory.bytes;
    tsri_graph_memory_clear(&memory);
    return TSR_OK;
}

/* What `all` bytes hold of the layers, beside activations. */
static uint64_t room_in(uint64_t all, uint64_t activations) {
    const uint64_t room = all - all / KEPT_FREE;
    return room > activations ? room - activations : 0;
}

static tsr_status add_rooms(dealing *d, const tsri_graph *graph, const tsr_bounds *bounds) {
    uint64_t arena = 0, sharing = 0, host = UINT64_MAX;
    TRY(arena_bytes(graph, bounds, &arena));
    TRY(tsri_base_new(d->n, sizeof *d->room, &d->room));
    TRY(tsri_base_new(d->n, sizeof *d->target, &d->target));
    for (size_t i = 0; i < d->n; i++) {
        const tsri_run_holder *holder = &d->holders[i];
        d->room[i] = room_in(holder->memory, arena);
        sharing += holder->host != 0;
        host = holder->host && holder->host < host ? holder->host : host;
    }
    d->pool = room_in(host, sharing * arena);
    return TSR_OK;
}

static tsr_status begin(dealing *d, const tsri_graph *graph, const tsr_bounds *bounds,
                        const tsri_run_holder *holders, size_t n) {
    *d = (dealing){.holders = holders, .n = n};
    TRY(add_costs(d, graph, bounds));
    return add_rooms(d, graph, bounds);
}

/* What a holder still has room for. */
static uint64_t left_of(const dealing *d, size_t holder) {
    const uint64_t own = d->room[holder] - d->target[holder];
    uint64_t pool = d->pool;
    if (!d->holders[holder].host)
        return own;
    for (size_t i = 0; i < d->n; i++)
        pool -= d->holders[i].host ? d->target[i] : 0;
    return own < pool ? own : pool;
}

/* Shares `bytes` among the holders that come first, or among the others: equally, but to each no more
 * than its room. What none has room for stays unshared. */
static uint64_t share(dealing *d, bool first, uint64_t bytes) {
    for (bool more = true; more && bytes;) {
        uint64_t n = 0, given = 0;
        for (size_t i = 0; i < d->n; i++)
            n += d->holders[i].first == first && left_of(d, i);
        for (size_t i = 0; i < d->n && n; i++) {
            const uint64_t left = left_of(d, i), part = (bytes + n - 1) / n;
            if (d->holders[i].first != first || !left)
                continue;
            uint64_t added = part < left ? part : left;
            added = added < bytes - given ? added : bytes - given;
            d->target[i] += added;
            given += added;
        }
        bytes -= given;
        more = given != 0;
    }
    return bytes;
}

/* Deals the layers in order: a layer goes where its first byte is in a holder's share, and further on
 * where that one does not hold it. each: every holder gets a layer. */
static void deal(const dealing *d, bool each, int *ends) {
    uint64_t at = 0, end = d->target[0], used = 0, pooled = 0;
    size_t holder = 0;
    int first = 0; /* of the holder's layers */
    for (int layer = 0; layer < d->layers; layer++) {
        while (holder + 1 < d->n) {
            const bool full = at >= end || used + d->cost[layer] > d->room[holder] ||
                              (d->holders[holder].host && pooled + d->cost[layer] > d->pool),
                       needed = each && d->layers - layer < (int)(d->n - holder);
            if ((each && layer == first) || (!full && !needed))
                break;
            ends[holder++] = first = layer;
            end = (at > end ? at : end) + d->target[holder];
            used = 0;
        }
        used += d->cost[layer];
        pooled += d->holders[holder].host ? d->cost[layer] : 0;
        at += d->cost[layer];
    }
    while (holder < d->n)
        ends[holder++] = d->layers;
}

/* "layers: 20 of 32 on A, as many as its 8192 MiB hold; 12 on B" */
static void say(const tsri_run_context *context, const dealing *d, const int *ends) {
    tsri_bytes text = {0};
    for (size_t i = 0; i < d->n; i++) {
        const tsr_facts *facts = &context->slots[i].device->facts;
        const bool full = d->target[i] == d->room[i];
        char many[32] = "", held[64] = "";
        if (!i)
            snprintf(many, sizeof many, " of %d", d->layers);
        if (full)
            snprintf(held, sizeof held, ", as many as its %llu MiB hold",
                     (unsigned long long)(tsri_run_available(facts) >> 20));
        (void)!tsri_base_bytes_printf(&text, "%s%d%s on %s/%s%s", i ? "; " : "",
                                      ends[i] - (i ? ends[i - 1] : 0), many, facts->platform,
                                      facts->name, held);
    }
    tsri_run_log(context, TSR_LOG_INFO, "layers: %s", text.data ? text.data : "");
    tsri_base_bytes_clear(&text);
}

static tsri_run_holder holder_of(const tsri_run_slot *slot) {
    const tsr_facts *facts = &slot->device->facts;
    return (tsri_run_holder){.memory = tsri_run_available(facts),
                             .host = facts->unified_memory ? tsri_run_host_memory(facts) : 0,
                             .first = facts->type == TSR_DEVICE_GPU ||
                                      facts->type == TSR_DEVICE_ACCELERATOR};
}

static tsr_status deal_to_devices(tsri_run_context *context, const tsri_graph *graph,
                                  const tsr_bounds *bounds, tsri_run_holder *holders) {
    dealing d;
    tsr_status status = begin(&d, graph, bounds, holders, context->options.n_devices);
    if (status == TSR_OK)
        status = tsri_base_new(d.n, sizeof *context->ends, &context->ends);
    if (status == TSR_OK) {
        uint64_t left = share(&d, true, d.total);
        left = share(&d, false, left);
        d.target[d.n - 1] += left; /* the check of the budget says that it does not fit */
        deal(&d, false, context->ends);
        if (d.layers > 1)
            say(context, &d, context->ends);
    }
    drop(&d);
    return status;
}

tsr_status tsri_run_deal(tsri_run_context *context, const tsri_graph *graph,
                         const tsr_bounds *bounds) {
    tsri_run_holder *holders = NULL;
    const size_t n = context->options.n_devices;
    if (context->ends || n < 2)
        return TSR_OK;
    TRY(tsri_base_new(n, sizeof *holders, &holders));
    for (size_t i = 0; i < n; i++)
        holders[i] = holder_of(&context->slots[i]);
    const tsr_status status = deal_to_devices(context, graph, bounds, holders);
    free(holders);
    return status;
}

tsr_status tsri_run_deal_to_ranks(const tsri_graph *graph, const tsr_bounds *bounds,
                                  const tsri_run_holder *holders, size_t n, int *ends,
                                  tsri_run_dealt *out) {
    dealing d;
    const tsr_status status = begin(&d, graph, bounds, holders, n);
    *out = (tsri_run_dealt){0};
    if (status == TSR_OK) {
        *out = (tsri_run_dealt){.layers = d.layers, .bytes = d.total};
        for (size_t i = 0; i < n; i++)
            out->room += d.room[i] < UINT64_MAX - out->room ? d.room[i] : UINT64_MAX - out->room;
        (void)share(&d, false, d.total);
        deal(&d, true, ends);
    }
    drop(&d);
    return status;
}

tsr_status tsri_run_layers_held(const tsri_run_context *context, const tsri_graph *graph,
                                const tsr_bounds *bounds, int *held, int *layers) {
    const tsri_run_holder first = holder_of(&context->slots[0]);
    dealing d;
    uint64_t used = 0;
    tsr_status status = begin(&d, graph, bounds, &first, 1);
    *held = *layers = 0;
    for (; status == TSR_OK && *layers < d.layers; ++*layers) {
        used += d.cost[*layers];
        *held += used <= d.room[0];
    }
    drop(&d);
    return status;
}
