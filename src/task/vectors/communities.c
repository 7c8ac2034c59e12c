/* task/vectors/communities.c - makes clusters of the rows that have many neighbours, and of these
 * neighbours.
 *
 * Neighbours are counted in one pass over all pairs, and found again for the rows that are tried,
 * so memory grows with N; a list of all neighbours could grow with N^2. */
#include "task/vectors/clusters.h"

#include "base/error.h"
#include "base/memory.h"
#include "task/vectors/similar.h"

#include <stdlib.h>

typedef struct candidate {
    uint32_t neighbours; /* including itself */
    uint32_t row;
} candidate;

static bool are_neighbours(const tsri_task_rows *r, size_t i, size_t j) {
    const float dot = tsri_task_dot(r->data + i * r->C, r->data + j * r->C, r->C);
    return dot * r->scale[i] * r->scale[j] >= r->options->threshold;
}

static tsr_status count_neighbours(const tsri_task_rows *r, candidate *candidates) {
    for (size_t i = 0; i < r->N; i++)
        candidates[i] = (candidate){.row = (uint32_t)i, .neighbours = r->scale[i] > 0};
    for (size_t i = 0; i < r->N; i++) {
        if (i % 256 == 0)
            TRY(tsri_task_cluster_tell(r, i, 2 * r->N));
        for (size_t j = i + 1; r->scale[i] > 0 && j < r->N; j++)
            if (r->scale[j] > 0 && are_neighbours(r, i, j)) {
                candidates[i].neighbours++;
                candidates[j].neighbours++;
            }
    }
    return TSR_OK;
}

static int by_neighbours(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return x->neighbours != y->neighbours ? (x->neighbours > y->neighbours ? -1 : 1)
                                          : (x->row > y->row) - (x->row < y->row);
}

/* Makes a community of the neighbours of `row` that are in none yet, where they are enough. */
static bool try_community(const tsri_task_rows *r, size_t row, size_t least, int32_t number,
                          int32_t *cluster, uint32_t *members) {
    size_t n = 0;
    for (size_t j = 0; j < r->N; j++)
        if (cluster[j] < 0 && r->scale[j] > 0 && (j == row || are_neighbours(r, row, j)))
            members[n++] = (uint32_t)j;
    if (n < least)
        return false;
    while (n > 0)
        cluster[members[--n]] = number;
    return true;
}

static tsr_status gather(const tsri_task_rows *r, candidate *candidates, uint32_t *members,
                         int32_t *cluster) {
    const size_t least = r->options->min_size ? r->options->min_size : 2;
    int32_t found = 0;
    TRY(count_neighbours(r, candidates));
    qsort(candidates, r->N, sizeof *candidates, by_neighbours);
    for (size_t i = 0; i < r->N; i++)
        cluster[i] = -1;
    for (size_t i = 0; i < r->N && candidates[i].neighbours >= least; i++) {
        if (i % 256 == 0)
            TRY(tsri_task_cluster_tell(r, r->N + i, 2 * r->N));
        found += try_community(r, candidates[i].row, least, found, cluster, members);
    }
    return TSR_OK;
}

tsr_status tsri_task_communities(const tsri_task_rows *rows, int32_t *cluster) {
    candidate *candidates = NULL;
    uint32_t *members = NULL;
    tsr_status status = tsri_base_new(rows->N, sizeof *candidates, &candidates);
    if (status == TSR_OK)
        status = tsri_base_new(rows->N, sizeof *members, &members);
    if (status == TSR_OK)
        status = gather(rows, candidates, members, cluster);
    free(candidates);
    free(members);
    return status;
}
