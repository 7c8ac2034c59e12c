/* graph/memory.c - when each storage is live, and its place in one arena for all that live within a
 * run. */
#include "base/memory.h"
#include "base/error.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "tensor/shape.h"

#include <stdlib.h>

typedef struct block { /* a storage in the arena */
    tsri_value value;
    int32_t first, last; /* nodes */
    uint64_t origin, bytes;
} block;

static int by_first_use(const void *a, const void *b) {
    const block *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (x->value > y->value) - (x->value < y->value);
}

static tsr_status collect(const tsri_graph *graph, const tsr_bounds *bounds, const bool *pinned,
                          uint32_t alignment, block *blocks, size_t *n, int32_t *last) {
    for (size_t i = 0; i < tsri_graph_value_count(graph); i++)
        last[i] = -1;
    for (size_t i = 0; i < tsri_graph_node_count(graph); i++) {
        const tsri_graph_node *node = tsri_graph_node_at(graph, i);
        for (uint32_t j = 0; j < node->n_in; j++)
            if (node->in[j] != TSRI_GRAPH_NONE)
                last[tsri_graph_value_at(graph, node->in[j])->storage] = (int32_t)i;
    }
    for (size_t i = 0; i < tsri_graph_value_count(graph); i++) {
        const tsri_graph_value *v = tsri_graph_value_at(graph, (tsri_value)i);
        if (v->storage != (tsri_value)i || v->producer < 0 || pinned[i])
            continue;
        const uint64_t bytes = tsri_tensor_extent(&v->tensor, bounds->highest);
        if (bytes > UINT64_MAX / 2)
            return tsri_base_fail(
                TSR_E_DEVICE_MEMORY,
                "an activation would need %llu bytes; use smaller batches or a shorter context",
                (unsigned long long)bytes);
        blocks[(*n)++] = (block){.value = (tsri_value)i,
                                 .first = v->producer,
                                 .last = last[i] > v->producer ? last[i] : v->producer,
                                 .bytes = (bytes + alignment - 1) / alignment * alignment};
    }
    qsort(blocks, *n, sizeof *blocks, by_first_use);
    return TSR_OK;
}

/* The block of an input that is last used by the node that makes b, where the op may overwrite it
 * and both have the same size; or NULL. */
static const block *overwritten(const tsri_graph *graph, const block *b, const block *blocks,
                                size_t placed) {
    const tsri_graph_node *node = tsri_graph_node_at(graph, (size_t)b->first);
    if (node->out[0] != b->value)
        return NULL;
    for (uint32_t i = 0; i < node->n_in; i++) {
        if (!tsri_tensor_input_is(node->id, i, TSRI_TENSOR_OVERWRITTEN) ||
            node->in[i] == TSRI_GRAPH_NONE)
            continue;
        const tsri_graph_value *in = tsri_graph_value_at(graph, node->in[i]);
        if (!tsri_tensor_is_packed(&in->tensor) || in->tensor.offset)
            continue;
        for (uint32_t j = 0; j < node->n_in;
             j++) /* another operand in the same storage would be read after the write */
            if (j != i && node->in[j] != TSRI_GRAPH_NONE &&
                tsri_graph_value_at(graph, node->in[j])->storage == in->storage)
                return NULL;
        for (size_t k = 0; k < placed; k++)
            if (blocks[k].value == in->storage && blocks[k].last == b->first &&
                blocks[k].bytes == b->bytes)
                return &blocks[k];
    }
    return NULL;
}

/* The lowest gap between the blocks that are live at the same time. */
static uint64_t lowest_gap(const block *b, const block *blocks, size_t placed) {
    uint64_t origin = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t k = 0; k < placed; k++) {
            const block *o = &blocks[k];
            if (o->first <= b->last && b->first <= o->last && origin < o->origin + o->bytes &&
                o->origin < origin + b->bytes) {
                origin = o->origin + o->bytes;
                moved = true;
            }
        }
    }
    return origin;
}

tsr_status tsri_graph_plan_memory(const tsri_graph *graph, const tsr_bounds *bounds,
                                  const bool *pinned, uint32_t alignment, tsri_graph_memory *out) {
    const size_t n_values = tsri_graph_value_count(graph);
    block *blocks = NULL;
    int32_t *last = NULL;
    size_t n = 0;
    *out = (tsri_graph_memory){0};
    tsr_status status = tsri_base_new(n_values, sizeof *out->origin, &out->origin);
    if (status == TSR_OK)
        status = tsri_base_new(n_values, sizeof *blocks, &blocks);
    if (status == TSR_OK)
        status = tsri_base_new(n_values, sizeof *last, &last);
    if (status == TSR_OK)
        status = collect(graph, bounds, pinned, alignment, blocks, &n, last);
    if (status != TSR_OK)
        goto out;
    for (size_t i = 0; i < n_values; i++)
        out->origin[i] = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const block *taken = overwritten(graph, &blocks[i], blocks, i);
        blocks[i].origin = taken ? taken->origin : lowest_gap(&blocks[i], blocks, i);
        out->origin[blocks[i].value] = blocks[i].origin;
        if (out->bytes < blocks[i].origin + blocks[i].bytes)
            out->bytes = blocks[i].origin + blocks[i].bytes;
    }
out:
    free(blocks);
    free(last);
    if (status != TSR_OK)
        tsri_graph_memory_clear(out);
    return status;
}

void tsri_graph_memory_clear(tsri_graph_memory *memory) {
    free(memory->origin);
    *memory = (tsri_graph_memory){0};
}
