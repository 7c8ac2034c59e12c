/* text/base/merge.c - merges the neighbours of a word, the best pair first. */
#include "text/base/merge.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

#include <stdlib.h>

tsr_status tsri_text_symbol_add(tsri_text_work *work, size_t start, size_t size, int32_t id,
                                bool frozen) {
    TRY(tsri_base_grow(&work->symbols, &work->capacity, work->count + 1, sizeof *work->symbols));
    const int32_t at = (int32_t)work->count;
    if (at > 0)
        work->symbols[at - 1].next = at;
    work->symbols[work->count++] =
        (tsri_text_symbol){(uint32_t)start, (uint32_t)size, id, at - 1, -1, frozen};
    return TSR_OK;
}

/* Four children a node, of 16 bytes: a step down reads one or two cache lines, and there are half
 * as many steps as with two. Long texts make heaps far larger than the caches. */
enum { CHILDREN = 4 };

static tsr_status push(tsri_text_work *work, tsri_text_candidate candidate) {
    TRY(tsri_base_grow(&work->heap, &work->heap_capacity, work->heap_count + 1,
                       sizeof *work->heap));
    size_t at = work->heap_count++;
    while (at > 0 && candidate.key < work->heap[(at - 1) / CHILDREN].key) {
        work->heap[at] = work->heap[(at - 1) / CHILDREN];
        at = (at - 1) / CHILDREN;
    }
    work->heap[at] = candidate;
    return TSR_OK;
}

static tsri_text_candidate pop(tsri_text_work *work) {
    tsri_text_candidate *heap = work->heap;
    const tsri_text_candidate top = heap[0], last = heap[--work->heap_count];
    const size_t n = work->heap_count;
    size_t at = 0;
    for (size_t child = 1; child < n; child = CHILDREN * at + 1) {
        const size_t end = child + CHILDREN < n ? child + CHILDREN : n;
        size_t least = child;
        for (size_t i = child + 1; i < end; i++)
            least = heap[i].key < heap[least].key ? i : least;
        if (heap[least].key >= last.key)
            break;
        heap[at] = heap[least];
        at = least;
    }
    heap[at] = last;
    return top;
}

static tsr_status consider(tsri_text_work *work, tsri_text_pair pair, const void *model,
                           int32_t left) {
    if (left < 0 || work->symbols[left].next < 0)
        return TSR_OK;
    const tsri_text_symbol *a = &work->symbols[left], *b = &work->symbols[a->next];
    tsri_text_candidate candidate = {.size = a->size + b->size};
    uint32_t order;
    if (a->frozen || b->frozen || !pair(model, work, a, b, &order, &candidate.id))
        return TSR_OK;
    candidate.key = (uint64_t)order << 32 | (uint32_t)left;
    return push(work, candidate);
}

/* As in Hugging Face's BPE: a candidate that is left out may be drawn again after the next
 * candidate that is kept. */
static tsr_status leave_out(tsri_text_work *work, tsri_text_candidate candidate, bool *left_out) {
    tsri_text_dropout *d = work->dropout;
    *left_out = d && tsri_base_uniform(d->seed, d->stream, d->drawn++) < d->rate;
    if (*left_out) {
        TRY(tsri_base_grow(&work->skipped, &work->skipped_capacity, work->skipped_count + 1,
                           sizeof *work->skipped));
        work->skipped[work->skipped_count++] = candidate;
        return TSR_OK;
    }
    while (work->skipped_count)
        TRY(push(work, work->skipped[--work->skipped_count]));
    return TSR_OK;
}

tsr_status tsri_text_merge(tsri_text_work *work, tsri_text_pair pair, const void *model) {
    work->heap_count = work->skipped_count = 0;
    for (size_t i = 0; i + 1 < work->count; i++)
        TRY(consider(work, pair, model, (int32_t)i));
    while (work->heap_count) {
        const tsri_text_candidate top = pop(work);
        bool left_out;
        TRY(leave_out(work, top, &left_out));
        if (left_out)
            continue;
        const int32_t at = (int32_t)(top.key & UINT32_MAX);
        tsri_text_symbol *left = &work->symbols[at];
        if (left->size == 0 || left->next < 0)
            continue;
        tsri_text_symbol *right = &work->symbols[left->next];
        if (left->size + right->size != top.size) /* one of them has grown since */
            continue;
        left->id = top.id;
        left->size = top.size;
        left->next = right->next;
        right->size = 0;
        if (left->next >= 0)
            work->symbols[left->next].previous = at;
        TRY(consider(work, pair, model, left->previous));
        TRY(consider(work, pair, model, at));
    }
    return TSR_OK;
}

tsr_status tsri_text_emit(tsri_text_work *work, tsri_text_ids *ids, int32_t id, size_t start,
                          size_t end) {
    TRY(tsri_text_ids_append(ids, &id, 1));
    return work->places ? tsri_text_ranges_add(work->places, start, end, true) : TSR_OK;
}

void tsri_text_work_clear(tsri_text_work *work) {
    free(work->symbols);
    free(work->heap);
    free(work->skipped);
    free(work->cuts);
    free(work->best);
    *work = (tsri_text_work){0};
}
