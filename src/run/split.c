/* run/split.c - layers over ranks: which rank has which, and the part of a graph that this one runs.
 *
 * Rank 0 deals the layers by what every rank has room for, so all agree whatever their devices are. A
 * graph is cut before it is lowered: what crosses from one rank to another are values of the graph as it
 * was built, which is the same on all ranks. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/system/system.h"
#include "run/context.h"
#include "tensor/shape.h"

#include <stdlib.h>
#include <string.h>

/* What this rank has for layers. Ranks of one host share its memory. */
static uint64_t own_memory(const tsri_run_context *context) {
    const tsr_ranks *ranks = context->options.ranks;
    const tsr_facts *facts = &context->slots[0].device->facts;
    const char *host = tsri_ranks_host(ranks, tsri_ranks_rank(ranks));
    const uint64_t device = facts->memory ? facts->memory : UINT64_MAX,
                   all = tsri_run_host_memory(facts);
    uint32_t beside = 0;
    for (uint32_t r = 0; r < tsri_ranks_size(ranks); r++)
        beside += !strcmp(tsri_ranks_host(ranks, r), host);
    const uint64_t share = all == UINT64_MAX ? all : all / beside;
    return device < share ? device : share;
}

static tsr_status gather_holders(const tsri_run_context *context, tsri_run_holder *holders) {
    tsr_ranks *ranks = context->options.ranks;
    const uint64_t own = own_memory(context);
    uint64_t *all = NULL;
    TRY(tsri_base_new(tsri_ranks_size(ranks), sizeof *all, &all));
    const tsr_status status = tsri_ranks_gather_equal(ranks, &own, all, sizeof own);
    for (uint32_t r = 0; r < tsri_ranks_size(ranks); r++)
        holders[r] = (tsri_run_holder){.memory = all[r]};
    free(all);
    return status;
}

/* "layers: 16 of 32 on rank 0, 16 on rank 1" */
static void say(const tsri_run_context *context) {
    const uint32_t n = tsri_ranks_size(context->options.ranks);
    const int *ends = context->rank_ends;
    tsri_bytes text = {0};
    for (uint32_t r = 0; r < n; r++) {
        (void)!tsri_base_bytes_printf(&text, "%s%d", r ? ", " : "",
                                      ends[r] - (r ? ends[r - 1] : 0));
        if (!r)
            (void)!tsri_base_bytes_printf(&text, " of %d", ends[n - 1]);
        (void)!tsri_base_bytes_printf(&text, " on rank %u", r);
    }
    tsri_run_log(context, TSR_LOG_INFO, "layers: %s", text.data ? text.data : "");
    tsri_base_bytes_clear(&text);
}

/* What rank 0 has decided. */
typedef struct verdict {
    tsri_run_dealt dealt;
    tsr_status status;
} verdict;

static tsr_status check(const verdict *v, uint32_t n) {
    if (v->status != TSR_OK)
        return tsri_base_fail(v->status, "rank 0 could not deal the layers to the ranks");
    if (v->dealt.layers < (int)n)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the model has %d layers, and %u ranks are to share them: start at "
                              "most %d",
                              v->dealt.layers, n, v->dealt.layers);
    if (v->dealt.bytes > v->dealt.room)
        return tsri_base_fail(
            TSR_E_DEVICE_MEMORY,
            "weights, keys and values need %llu MiB; the %u ranks have room for "
            "%llu MiB: start more ranks, or use a shorter context (-c) or smaller "
            "weights (--dtype)",
            (unsigned long long)(v->dealt.bytes >> 20), n,
            (unsigned long long)(v->dealt.room >> 20));
    return TSR_OK;
}

/* Deals the layers of the first graph. */
static tsr_status deal(tsri_run_context *context, const tsri_graph *graph,
                       const tsr_bounds *bounds) {
    tsr_ranks *ranks = context->options.ranks;
    const uint32_t n = tsri_ranks_size(ranks);
    tsri_run_holder *holders = NULL;
    int *ends = NULL;
    verdict v = {.status = TSR_OK};
    if (context->rank_ends)
        return TSR_OK;
    tsr_status status = tsri_base_new(n, sizeof *holders, &holders);
    if (status == TSR_OK)
        status = tsri_base_new(n, sizeof *ends, &ends);
    if (status == TSR_OK)
        status = gather_holders(context, holders);
    if (status == TSR_OK && tsri_ranks_rank(ranks) == 0)
        v.status = tsri_run_deal_to_ranks(graph, bounds, holders, n, ends, &v.dealt);
    if (status == TSR_OK)
        status = tsri_ranks_broadcast(ranks, 0, &v, sizeof v);
    if (status == TSR_OK)
        status = check(&v, n);
    if (status == TSR_OK)
        status = tsri_ranks_broadcast(ranks, 0, ends, n * sizeof *ends);
    free(holders);
    if (status != TSR_OK) {
        free(ends);
        return status;
    }
    context->rank_ends = ends;
    say(context);
    return TSR_OK;
}

static uint32_t rank_of_layer(const tsri_run_context *context, int layer) {
    const uint32_t n = tsri_ranks_size(context->options.ranks);
    uint32_t rank = 0;
    while (rank + 1 < n && layer >= context->rank_ends[rank])
        rank++;
    return rank;
}

/* A state lies on the rank that uses it. */
static tsr_status check_states(const tsri_graph *graph, const uint32_t *rank) {
    int64_t *user = NULL; /* of each state leaf: its first rank and 1; 0: none so far */
    tsr_status status = tsri_base_new(tsri_graph_value_count(graph) + 1, sizeof *user, &user);
    for (size_t i = 0; status == TSR_OK && i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        for (uint32_t j = 0; j < node->n_in && status == TSR_OK; j++) {
            if (node->in[j] == TSRI_GRAPH_NONE)
                continue;
            const tsri_value leaf = tsri_graph_value_at(graph, node->in[j])->storage;
            const tsri_graph_value *v = tsri_graph_value_at(graph, leaf);
            if (v->tensor.kind != TSR_KIND_STATE)
                continue;
            if (user[leaf] && user[leaf] != (int64_t)rank[i] + 1)
                status = tsri_base_fail(TSR_E_UNSUPPORTED,
                                        "%s is used by layers of two ranks; such a model runs on "
                                        "one rank only",
                                        v->name);
            user[leaf] = (int64_t)rank[i] + 1;
        }
    }
    free(user);
    return status;
}

/* Values go from a rank to later ones, so no rank waits for one that waits for it. */
static tsr_status check_order(const tsri_graph_crossing *all, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (all[i].from > all[i].to)
            return tsri_base_fail(TSR_E_INTERNAL,
                                  "rank %u needs a value of the later rank %u; the layers of this "
                                  "model can't be split over ranks",
                                  all[i].to, all[i].from);
    return TSR_OK;
}

/* Compares what crosses with the other ranks: they must have built the same graph. */
static tsr_status compare(tsri_run_context *context, const tsri_graph_crossing *all, size_t n) {
    tsri_bytes list = {0};
    char shape[96];
    tsr_status status =
        tsri_base_bytes_printf(&list, "layers of rank 0\t%d\n", context->rank_ends[0]);
    for (size_t i = 0; i < n && status == TSR_OK; i++)
        status = tsri_base_bytes_printf(&list, "value %d from rank %u to rank %u\t%s\n",
                                        (int)all[i].value, all[i].from, all[i].to,
                                        tsri_tensor_print(&all[i].tensor, shape));
    if (status == TSR_OK)
        status = tsr_ranks_compare(context->options.ranks, list.data);
    tsri_base_bytes_clear(&list);
    return status;
}

static tsr_status note_outputs(const tsri_graph *graph, const uint32_t *rank,
                               tsri_run_part_of *part) {
    TRY(tsri_base_new(tsri_graph_output_count(graph) + 1, sizeof *part->outputs, &part->outputs));
    for (size_t i = 0; i < tsri_graph_output_count(graph); i++) {
        const tsri_graph_output_mark *mark = tsri_graph_output_at(graph, i);
        const int32_t producer = tsri_graph_value_at(graph, mark->value)->producer;
        if (producer >= 0)
            part->outputs[part->n_outputs++] =
                (tsri_run_owned){.id = mark->id, .rank = rank[producer]};
    }
    return TSR_OK;
}

/* Keeps the crossings that this rank takes part in. */
static void keep_own(tsri_run_part_of *part, uint32_t own) {
    size_t kept = 0;
    for (size_t i = 0; i < part->n_crossings; i++)
        if (part->crossings[i].from == own || part->crossings[i].to == own)
            part->crossings[kept++] = part->crossings[i];
    part->n_crossings = kept;
}

static tsr_status split(tsri_run_context *context, const tsri_graph *graph, uint32_t *rank,
                        tsri_run_part_of *part, tsri_graph **out) {
    const uint32_t own = tsri_ranks_rank(context->options.ranks);
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++)
        rank[i] = rank_of_layer(context, tsri_graph_node_at(graph, i)->layer);
    TRY(check_states(graph, rank));
    TRY(tsri_graph_find_crossings(graph, rank, &part->crossings, &part->n_crossings));
    TRY(check_order(part->crossings, part->n_crossings));
    TRY(compare(context, part->crossings, part->n_crossings));
    TRY(note_outputs(graph, rank, part));
    keep_own(part, own);
    return tsri_graph_cut(graph, rank, own, part->crossings, part->n_crossings, out);
}

tsr_status tsri_run_split(tsri_run_context *context, const tsri_graph *graph,
                          const tsr_bounds *bounds, tsri_run_part_of *part, tsri_graph **out) {
    uint32_t *rank = NULL;
    TRY(deal(context, graph, bounds));
    TRY(tsri_base_new(tsri_graph_node_count(graph) + 1, sizeof *rank, &rank));
    const tsr_status status = split(context, graph, rank, part, out);
    free(rank);
    return status;
}

void tsri_run_part_of_clear(tsri_run_part_of *part) {
    free(part->crossings);
    free(part->outputs);
    *part = (tsri_run_part_of){0};
}

/* ---- memory for what crosses ---- */

tsr_status tsri_run_messages_make(tsri_run_plan *plan) {
    const tsri_run_part_of *part = &plan->placed->part;
    tsri_run_messages *m = &plan->messages;
    if (!part->n_crossings)
        return TSR_OK;
    TRY(tsri_base_new(part->n_crossings, sizeof *m->data, &m->data));
    TRY(tsri_base_new(part->n_crossings, sizeof *m->sent, &m->sent));
    for (size_t i = 0; i < part->n_crossings; i++)
        TRY(tsri_base_new_aligned(
            tsri_tensor_extent(&part->crossings[i].tensor, plan->bounds.highest) + 1, &m->data[i]));
    return TSR_OK;
}

/* What is still being sent is waited for; where that fails, so do the other exchanges. */
void tsri_run_messages_drop(tsri_run_plan *plan) {
    tsri_run_messages *m = &plan->messages;
    const size_t n = m->sent ? plan->placed->part.n_crossings : 0;
    for (size_t i = 0; i < n; i++) {
        if (m->sent[i])
            (void)!tsri_ranks_wait(plan->context->options.ranks, m->sent[i], UINT64_MAX);
        tsri_system_free_aligned(m->data[i]);
    }
    free(m->data);
    free(m->sent);
    free(m->inputs);
    free(m->outputs);
}
