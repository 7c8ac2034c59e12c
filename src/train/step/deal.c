/* train/step/deal.c - deals the shards of an update to the ranks, and adds up what they make of them. */
#include "train/step/deal.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

enum { MOST_LEVELS = 32 };

static uint32_t level_of(uint32_t shards) {
    uint32_t level = 0;
    while (shards >> level > 1)
        level++;
    return level;
}

static size_t ones(uint32_t number) {
    return (size_t)__builtin_popcount(number);
}

/* The largest nodes come first, so each begins at a multiple of its size. */
static void place_nodes(const uint32_t *counts, tsri_training_deal *d) {
    uint32_t first = 0;
    size_t n = 0;
    for (uint32_t level = level_of(d->shards) + 1; level--;)
        for (uint32_t r = 0; r < d->ranks; r++)
            if (counts[r] >> level & 1) {
                d->nodes[n++] = (tsri_training_node){.first = first, .level = level, .rank = r};
                first += 1u << level;
            }
    assert(n == d->n && first == d->shards);
}

tsr_status tsri_training_deal_make(uint32_t shards, const uint32_t *counts, uint32_t ranks,
                                   tsri_training_deal *out) {
    tsri_training_deal d = {.shards = shards, .ranks = ranks};
    for (uint32_t r = 0; r < ranks; r++) {
        d.n += ones(counts[r]);
        d.most = ones(counts[r]) > d.most ? ones(counts[r]) : d.most;
    }
    tsr_status status = tsri_base_new(d.n, sizeof *d.nodes, &d.nodes);
    if (status == TSR_OK)
        status = tsri_base_new(d.n, sizeof *d.of, &d.of);
    if (status == TSR_OK)
        status = tsri_base_new((size_t)ranks + 1, sizeof *d.begin, &d.begin);
    if (status != TSR_OK) {
        tsri_training_deal_clear(&d);
        return status;
    }
    place_nodes(counts, &d);
    for (uint32_t r = 0; r < ranks; r++) {
        d.begin[r + 1] = d.begin[r];
        for (size_t i = 0; i < d.n; i++)
            if (d.nodes[i].rank == r)
                d.of[d.begin[r + 1]++] = i;
    }
    tsri_training_deal_clear(out);
    *out = d;
    return TSR_OK;
}

void tsri_training_deal_clear(tsri_training_deal *deal) {
    free(deal->nodes);
    free(deal->of);
    free(deal->begin);
    *deal = (tsri_training_deal){0};
}

size_t tsri_training_deal_count(const tsri_training_deal *deal, uint32_t rank) {
    return deal->begin[rank + 1] - deal->begin[rank];
}

size_t tsri_training_deal_index(const tsri_training_deal *deal, uint32_t rank, size_t i) {
    return deal->of[deal->begin[rank] + i];
}

uint32_t tsri_training_deal_shards(const tsri_training_deal *deal, uint32_t rank) {
    uint32_t n = 0;
    for (size_t i = 0; i < tsri_training_deal_count(deal, rank); i++)
        n += 1u << deal->nodes[tsri_training_deal_index(deal, rank, i)].level;
    return n;
}

void tsri_training_deal_by_speed(uint32_t shards, const double *seconds, uint32_t ranks,
                                 uint32_t *counts) {
    for (uint32_t r = 0; r < ranks; r++)
        counts[r] = 1;
    for (uint32_t given = ranks; given < shards;
         given++) { /* to the rank that is done first then */
        uint32_t best = 0;
        for (uint32_t r = 1; r < ranks; r++)
            if ((counts[r] + 1) * seconds[r] < (counts[best] + 1) * seconds[best])
                best = r;
        counts[best]++;
    }
}

void tsri_training_deal_add(const tsri_training_deal *deal, float *sums, int64_t n) {
    size_t waiting[MOST_LEVELS]; /* nodes whose siblings follow, of ever lower levels */
    uint32_t levels[MOST_LEVELS];
    size_t depth = 0;
    for (size_t i = 0; i < deal->n; i++) {
        waiting[depth] = i;
        levels[depth++] = deal->nodes[i].level;
        while (depth > 1 && levels[depth - 1] == levels[depth - 2]) {
            float *sum = sums + (int64_t)waiting[depth - 2] * n;
            const float *other = sums + (int64_t)waiting[depth - 1] * n;
            for (int64_t k = 0; k < n; k++)
                sum[k] += other[k];
            levels[--depth - 1]++;
        }
    }
}
