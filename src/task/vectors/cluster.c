/* task/vectors/cluster.c - groups rows into clusters, and describes each cluster. */
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "task/vectors/clusters.h"
#include "task/vectors/similar.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- the description of the clusters ---- */

typedef struct result { /* the public part is first, so that one pointer serves for both */
    tsr_clusters shown;
    int32_t *cluster;
    float *cosine;
    uint64_t *size, *nearest;
} result;

void tsr_clusters_free(tsr_clusters **clusters) {
    result *r = (result *)*clusters;
    if (!r)
        return;
    free(r->cluster);
    free(r->cosine);
    free(r->size);
    free(r->nearest);
    free(r);
    *clusters = NULL;
}

typedef struct tally {
    size_t size, first; /* number of rows, and the first of them */
    int32_t number;     /* the old number, then the new one */
} tally;

static int by_size(const void *a, const void *b) {
    const tally *x = a, *y = b;
    return x->size != y->size ? (x->size > y->size ? -1 : 1)
                              : (x->first > y->first) - (x->first < y->first);
}

/* Renumbers the clusters 0 .. n - 1 by size, and keeps the sizes. Old numbers are below `room`. */
static tsr_status renumber(result *r, size_t N, size_t room) {
    tally *tallies = NULL;
    size_t n = 0;
    int32_t *number = NULL;
    TRY(tsri_base_new(room, sizeof *tallies, &tallies));
    for (size_t i = 0; i < room; i++)
        tallies[i].number = (int32_t)i;
    for (size_t i = N; i-- > 0;)
        if (r->cluster[i] >= 0) {
            tallies[r->cluster[i]].size++;
            tallies[r->cluster[i]].first = i;
        }
    qsort(tallies, room, sizeof *tallies, by_size);
    while (n < room && tallies[n].size)
        n++;
    tsr_status status = tsri_base_new(n, sizeof *r->size, &r->size);
    if (status == TSR_OK)
        status = tsri_base_new(room, sizeof *number, &number);
    if (status == TSR_OK) {
        for (size_t i = 0; i < n; i++) {
            r->size[i] = tallies[i].size;
            number[tallies[i].number] = (int32_t)i;
        }
        for (size_t i = 0; i < N; i++)
            r->cluster[i] = r->cluster[i] < 0 ? -1 : number[r->cluster[i]];
        r->shown.n = (uint32_t)n;
    }
    free(number);
    free(tallies);
    return status;
}

/* Sorts the rows by cluster; within a cluster they keep their order. `starts` [n + 1]: where each
 * cluster begins. */
static void sort_rows(const result *r, size_t N, size_t *starts, size_t *order) {
    starts[0] = 0;
    for (uint32_t c = 0; c < r->shown.n; c++)
        starts[c + 1] = starts[c] + (size_t)r->size[c];
    for (size_t i = 0; i < N; i++)
        if (r->cluster[i] >= 0)
            order[starts[r->cluster[i]]++] = i;
    for (uint32_t c = r->shown.n; c > 0; c--)
        starts[c] = starts[c - 1];
    starts[0] = 0;
}

static void measure_one(const tsri_task_rows *rows, result *r, uint32_t number, const size_t *order,
                        double *sum, float *centre) {
    const size_t n = (size_t)r->size[number];
    float best = -2;
    for (size_t c = 0; c < rows->C; c++)
        sum[c] = 0;
    for (size_t i = 0; i < n; i++)
        tsri_task_add_direction(rows, order[i], sum);
    tsri_task_direction(sum, rows->C, centre);
    for (size_t i = 0; i < n; i++) {
        const size_t row = order[i];
        const float dot = tsri_task_dot(rows->data + row * rows->C, centre, rows->C);
        r->cosine[row] = tsri_task_cosine(dot * rows->scale[row]);
        if (r->cosine[row] > best) {
            best = r->cosine[row];
            r->nearest[number] = row;
        }
    }
}

/* Computes the cosine of each row to the centre of its cluster, and finds the row nearest to each
 * centre. */
static tsr_status measure(const tsri_task_rows *rows, result *r) {
    size_t *order = NULL, *starts = NULL;
    double *sum = NULL;
    float *centre = NULL;
    tsr_status status = tsri_base_new(rows->N, sizeof *order, &order);
    if (status == TSR_OK)
        status = tsri_base_new(r->shown.n + (size_t)1, sizeof *starts, &starts);
    if (status == TSR_OK)
        status = tsri_base_new(rows->C, sizeof *sum, &sum);
    if (status == TSR_OK)
        status = tsri_base_new(rows->C, sizeof *centre, &centre);
    if (status == TSR_OK)
        status = tsri_base_new(r->shown.n, sizeof *r->nearest, &r->nearest);
    if (status == TSR_OK) {
        sort_rows(r, rows->N, starts, order);
        for (uint32_t c = 0; c < r->shown.n; c++)
            measure_one(rows, r, c, order + starts[c], sum, centre);
    }
    free(order);
    free(starts);
    free(sum);
    free(centre);
    return status;
}

static tsr_status check(const tsri_task_rows *rows) {
    const tsr_cluster_options *o = rows->options;
    size_t whole = 0;
    for (size_t i = 0; i < rows->N; i++)
        whole += rows->scale[i] > 0;
    if (o->k > INT32_MAX || rows->N > UINT32_MAX)
        return tsri_base_fail(TSR_E_ARGUMENT, "%zu rows or %" PRIu32 " clusters are too many",
                              rows->N, o->k);
    if (o->k > whole)
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "%" PRIu32
                              " clusters were asked for, but only %zu rows are not zero: "
                              "ask for fewer clusters",
                              o->k, whole);
    if (o->k == 0 && !(o->threshold > 0 && o->threshold <= 1))
        return tsri_base_fail(TSR_E_ARGUMENT,
                              "give a number of clusters, or a threshold above 0 and at most 1 "
                              "(threshold is %g)",
                              (double)o->threshold);
    return TSR_OK;
}

static tsr_status group(const tsri_task_rows *rows, float *scale, result *r) {
    TRY(tsri_task_inverse_norms("the vectors", 0, rows->data, rows->N, rows->C, scale));
    TRY(check(rows));
    TRY(rows->options->k ? tsri_task_k_means(rows, r->cluster, &r->shown.passes)
                         : tsri_task_communities(rows, r->cluster));
    TRY(renumber(r, rows->N, rows->options->k ? rows->options->k : rows->N));
    return measure(rows, r);
}

tsr_status tsr_cluster(const float *vectors, uint64_t N, uint32_t C,
                       const tsr_cluster_options *options, tsr_clusters **out) {
    result *r = NULL;
    float *scale = NULL;
    tsr_cluster_options known;
    TRY(NEED(out));
    *out = NULL;
    TRY(NEED_ARRAY(vectors, N));
    TRY(tsri_base_adopt("tsr_cluster_options", options, &known, sizeof known));
    TRY(tsri_base_new(1, sizeof *r, &r));
    tsr_status status = tsri_base_new(N, sizeof *scale, &scale);
    if (status == TSR_OK)
        status = tsri_base_new(N, sizeof *r->cluster, &r->cluster);
    if (status == TSR_OK)
        status = tsri_base_new(N, sizeof *r->cosine, &r->cosine);
    const tsri_task_rows rows = {
        .data = vectors, .scale = scale, .N = N, .C = C, .options = &known};
    if (status == TSR_OK)
        status = group(&rows, scale, r);
    free(scale);
    r->shown.rows = N;
    r->shown.cluster = r->cluster;
    r->shown.cosine = r->cosine;
    r->shown.size = r->size;
    r->shown.nearest = r->nearest;
    *out = &r->shown;
    if (status != TSR_OK)
        tsr_clusters_free(out);
    return status;
}
