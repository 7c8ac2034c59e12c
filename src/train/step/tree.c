/* train/step/tree.c - adds the gradients of shards up by a binary tree.
 *
 * A node of 8 shards, of which never more than one a level waits:
 *
 *     ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))
 *
 * The end of shard 3 adds what waits in level 0 (2) and in level 1 (0 + 1), and waits in level 2.
 */
#include "base/error.h"
#include "base/memory.h"
#include "tensor/shape.h"
#include "train/step/ranks.h"

#include <stdlib.h>

/* ---- graphs ---- */

/* gradient += level 0 + .. + level (complete - 1), one after the other; with `waits`, more shards of the
 * node follow, and level `complete` becomes the sum. Of the parameters of this bucket; SIZE_MAX: of all. */
static tsr_status build(tsri_training *t, int complete, bool waits, size_t bucket,
                        tsri_graph **out) {
    const tsr_dim dims[] = {tsri_tensor_const(1)};
    TRY(tsri_graph_create(out));
    tsri_graph *graph = *out;
    tsri_value beta = TSRI_GRAPH_NONE, none = TSRI_GRAPH_NONE;
    if (waits)
        beta = tsri_graph_leaf(graph, TSR_KIND_INPUT, TSRI_INPUT_BETA, "beta", TSR_F32, 1, dims);
    for (size_t i = 0; i < t->n_parameters; i++) {
        const tsri_training_parameter *p = &t->parameters[i];
        if (bucket != SIZE_MAX && p->bucket != bucket)
            continue;
        const tsri_value gradient = tsri_training_leaf(t, graph, p, TSRI_PART_GRADIENT);
        tsri_graph_scope(graph, 0, p->name);
        for (int level = 0; level < complete; level++) {
            const tsri_value in[] = {
                gradient,
                tsri_training_leaf(t, graph, p, (tsri_training_part)(TSRI_PART_SHARDS + level))};
            tsri_graph_op(graph, TSR_OP_ACCUMULATE, NULL, in, 2, 0, &none);
        }
        if (!waits)
            continue;
        const tsri_value in[] = {
            tsri_training_leaf(t, graph, p, (tsri_training_part)(TSRI_PART_SHARDS + complete)),
            gradient, beta};
        tsri_graph_op(graph, TSR_OP_ACCUMULATE, NULL, in, 3, 0, &none);
    }
    return tsri_graph_status(graph);
}

/* The graphs that a node of so many levels needs. */
static tsr_status build_for(tsri_training *t, int levels) {
    const size_t n = tsri_training_buckets(t);
    for (int i = 0; i < levels; i++)
        if (!t->tree[i].graph)
            TRY(build(t, i, true, SIZE_MAX, &t->tree[i].graph));
    if (!levels || t->last[levels])
        return TSR_OK;
    TRY(tsri_base_new(n, sizeof **t->last, &t->last[levels]));
    for (size_t i = 0; i < n; i++)
        TRY(build(t, levels, false, i, &t->last[levels][i].graph));
    return TSR_OK;
}

tsr_status tsri_training_build_tree(tsri_training *t) {
    for (size_t i = 0; i < tsri_training_own_nodes(t); i++)
        TRY(build_for(t, (int)tsri_training_own_node(t, i)->level));
    return TSR_OK;
}

tsr_status tsri_training_prepare_tree(tsri_training *t, bool ahead) {
    for (int i = 0; i < TSRI_MOST_LEVELS; i++) {
        TRY(tsri_training_prepare_plan(t, &t->tree[i], ahead));
        for (size_t b = 0; t->last[i] && b < tsri_training_buckets(t); b++)
            TRY(tsri_training_prepare_plan(t, &t->last[i][b], ahead));
    }
    return TSR_OK;
}

void tsri_training_drop_tree(tsri_training *t) {
    for (int i = 0; i < TSRI_MOST_LEVELS; i++) {
        tsri_training_drop_plan(t, &t->tree[i]);
        for (size_t b = 0; t->last[i] && b < tsri_training_buckets(t); b++)
            tsri_training_drop_plan(t, &t->last[i][b]);
        free(t->last[i]);
    }
}

uint32_t tsri_training_levels(const tsri_training *t) {
    uint32_t n = 0;
    while (n < TSRI_MOST_LEVELS && t->tree[n].graph)
        n++;
    return n;
}

/* ---- shards ---- */

static const int64_t ones[TSR_SYMBOLS] = {1, 1, 1, 1, 1};

tsr_status tsri_training_end_shard(tsri_training *t, uint32_t shard) {
    static const float nothing = 0; /* of what a level held */
    const tsri_run_binding input = {
        .id = TSRI_INPUT_BETA, .data = (void *)(uintptr_t)&nothing, .bytes = sizeof nothing};
    size_t i = 0;
    while ((shard - tsri_training_own_node(t, i)->first) >> tsri_training_own_node(t, i)->level)
        i++;
    const tsri_training_node *node = tsri_training_own_node(t, i);
    uint32_t complete = 0; /* levels: as many as the number of the shard ends in ones */
    while (complete < node->level && shard >> complete & 1)
        complete++;
    if (complete < node->level)
        return tsri_run_execute(t->tree[complete].plan, ones, &input, 1, NULL, 0);
    if (t->division) /* the last node's buckets were added up when each was whole (buckets.c) */
        return i + 1 < tsri_training_own_nodes(t) ? tsri_training_take_node(t, i) : TSR_OK;
    return complete ? tsri_run_execute(t->last[complete][0].plan, ones, NULL, 0, NULL, 0) : TSR_OK;
}

tsr_status tsri_training_deal_anew(tsri_training *t, const uint32_t *counts) {
    TRY(tsri_training_deal_make(t->deal.shards, counts, t->deal.ranks, &t->deal));
    TRY(tsri_training_build_tree(t));
    TRY(tsri_training_prepare_tree(t, false));
    return t->division ? tsri_training_make_room(t) : TSR_OK;
}
