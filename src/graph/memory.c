/* graph/memory.c - when each storage is live, and its place in the arenas for all that live within a
 * run. */
#include "base/memory.h"
#include "base/error.h"
#include "graph/graph.h"
#include "graph/ops.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

#include <stdlib.h>

typedef struct block { /* a storage in an arena */
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
        if (!tsri_tensor_is_packed(&in->tensor) || in->tensor.offset ||
            in->tensor.dtype != tsri_graph_value_at(graph, b->value)->tensor.dtype)
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

/* The bytes of the largest arena: no more than a buffer has, or elements of 4 bytes an int counts, but
 * where one value alone has more. */
static uint64_t limit_of(const block *blocks, size_t n, uint32_t alignment, uint64_t largest) {
    const uint64_t counted = (uint64_t)TSRI_GRAPH_MOST_ELEMENTS * 4;
    uint64_t limit = largest && largest < counted ? largest : counted;
    limit = limit < alignment ? alignment : limit - limit % alignment;
    for (size_t i = 0; i < n; i++)
        limit = blocks[i].bytes > limit ? blocks[i].bytes : limit;
    return limit;
}

/* The bytes of an arena whose elements of this dtype an int counts. */
static uint64_t counted_bytes(uint32_t dtype) {
    const tsri_tensor_dtype *type = tsri_tensor_dtype_info((tsr_dtype)dtype);
    return (uint64_t)(TSRI_GRAPH_MOST_ELEMENTS / type->block) * (uint64_t)type->bytes;
}

/* The first place from `origin` on where the block is in one arena, within its first `most` bytes or at its
 * start. */
static uint64_t in_one_arena(const block *b, uint64_t origin, uint64_t limit, uint64_t most) {
    const uint64_t at = origin % limit;
    return at && at + b->bytes > most ? origin - at + limit : origin;
}

/* The lowest gap between the blocks that are live at the same time. */
static uint64_t lowest_gap(const block *b, const block *blocks, size_t placed, uint64_t limit,
                           uint64_t most) {
    uint64_t origin = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t k = 0; k < placed; k++) {
            const block *o = &blocks[k];
            if (o->first <= b->last && b->first <= o->last && origin < o->origin + o->bytes &&
                o->origin < origin + b->bytes) {
                origin = in_one_arena(b, o->origin + o->bytes, limit, most);
                moved = true;
            }
        }
    }
    return origin;
}

static void place_all(const tsri_graph *graph, block *blocks, size_t n, tsri_graph_memory *out) {
    for (size_t i = 0; i < tsri_graph_value_count(graph); i++)
        out->origin[i] = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const block *taken = overwritten(graph, &blocks[i], blocks, i);
        const uint64_t counted =
            counted_bytes(tsri_graph_value_at(graph, blocks[i].value)->tensor.dtype);
        blocks[i].origin = taken ? taken->origin
                                 : lowest_gap(&blocks[i], blocks, i, out->limit,
                                              counted < out->limit ? counted : out->limit);
        out->origin[blocks[i].value] = blocks[i].origin;
    }
}

static tsr_status measure_arenas(const block *blocks, size_t n, tsri_graph_memory *out) {
    for (size_t i = 0; i < n; i++)
        if (out->n_arenas <= blocks[i].origin / out->limit)
            out->n_arenas = (size_t)(blocks[i].origin / out->limit) + 1;
    TRY(tsri_base_new(out->n_arenas + 1, sizeof *out->arenas, &out->arenas));
    for (size_t i = 0; i < n; i++) {
        uint64_t *bytes = &out->arenas[blocks[i].origin / out->limit];
        const uint64_t end = blocks[i].origin % out->limit + blocks[i].bytes;
        *bytes = end > *bytes ? end : *bytes;
    }
    for (size_t i = 0; i < out->n_arenas; i++)
        out->bytes += out->arenas[i];
    return TSR_OK;
}

tsr_status tsri_graph_plan_memory(const tsri_graph *graph, const tsr_bounds *bounds,
                                  const bool *pinned, uint32_t alignment, uint64_t largest,
                                  tsri_graph_memory *out) {
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
    if (status == TSR_OK) {
        out->limit = limit_of(blocks, n, alignment, largest);
        place_all(graph, blocks, n, out);
        status = measure_arenas(blocks, n, out);
    }
    free(blocks);
    free(last);
    if (status != TSR_OK)
        tsri_graph_memory_clear(out);
    return status;
}

void tsri_graph_memory_clear(tsri_graph_memory *memory) {
    free(memory->origin);
    free(memory->arenas);
    *memory = (tsri_graph_memory){0};
}
