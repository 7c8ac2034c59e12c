/* task/vectors/search.c - finds the k nearest rows by cosine, in one pass over the file, with a
 * heap of the best. */
#include "tessera/search.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/vectors/similar.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

enum { BLOCK = 1 << 18 }; /* numbers read at once */

static bool better(const tsr_hit *a, const tsr_hit *b) {
    return a->cosine > b->cosine || (a->cosine == b->cosine && a->row < b->row);
}

/* Puts `hit` at `at` and moves it down to its place; heap[0] is the worst of the n. */
static void sift_down(tsr_hit *heap, uint32_t n, uint32_t at, tsr_hit hit) {
    for (;;) {
        uint64_t worst = 2 * (uint64_t)at + 1;
        if (worst >= n)
            break;
        if (worst + 1 < n && better(&heap[worst], &heap[worst + 1]))
            worst++;
        if (!better(&hit, &heap[worst]))
            break;
        heap[at] = heap[worst];
        at = (uint32_t)worst;
    }
    heap[at] = hit;
}

static void take(tsr_hit *heap, uint32_t k, uint32_t *n, tsr_hit hit) {
    if (*n == k) {
        if (better(&hit, &heap[0]))
            sift_down(heap, k, 0, hit);
        return;
    }
    heap[(*n)++] = hit;
    if (*n == k)
        for (uint32_t at = k / 2; at-- > 0;)
            sift_down(heap, k, at, heap[at]);
}

static int by_rank(const void *a, const void *b) {
    return better(a, b) ? -1 : better(b, a);
}

static tsr_status scan(const tsr_vectors *index, const float *query, float query_scale, float *rows,
                       float *scales, uint64_t block, uint32_t k, tsr_hit *hits, uint32_t *n) {
    const uint64_t N = tsr_vectors_rows(index);
    const uint32_t C = tsr_vectors_width(index);
    for (uint64_t first = 0; first < N; first += block) {
        const size_t count = (size_t)(N - first < block ? N - first : block);
        TRY(tsr_vectors_read(index, first, count, rows));
        TRY(tsri_task_inverse_norms("the index", first, rows, count, C, scales));
        for (size_t i = 0; i < count; i++) {
            const float dot = tsri_task_dot(rows + i * C, query, C) * scales[i] * query_scale;
            take(hits, k, n, (tsr_hit){.row = first + i, .cosine = tsri_task_cosine(dot)});
        }
    }
    qsort(hits, *n, sizeof *hits, by_rank);
    return TSR_OK;
}

tsr_status tsr_search(const tsr_vectors *index, const float *query, uint32_t width, uint32_t k,
                      tsr_hit *hits, uint32_t *n) {
    TRY(NEED(index));
    TRY(NEED(query));
    TRY(NEED(hits));
    TRY(NEED(n));
    const uint32_t C = tsr_vectors_width(index);
    const uint64_t block = C < BLOCK ? BLOCK / C : 1;
    float *rows = NULL, *scales = NULL, query_scale;
    *n = 0;
    if (width != C)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "the query has %" PRIu32 " numbers, but the rows of the index have "
                              "%" PRIu32 ": both must come from the same model",
                              width, C);
    if (k == 0)
        return tsri_base_fail(TSR_E_ARGUMENT, "0 nearest rows were asked for; at least 1 must be");
    TRY(tsri_task_inverse_norms("the query", 0, query, 1, C, &query_scale));
    tsr_status status = tsri_base_new(block * C, sizeof *rows, &rows);
    if (status == TSR_OK)
        status = tsri_base_new(block, sizeof *scales, &scales);
    if (status == TSR_OK)
        status = scan(index, query, query_scale, rows, scales, block, k, hits, n);
    free(rows);
    free(scales);
    return status;
}
