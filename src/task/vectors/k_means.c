/* task/vectors/k_means.c - spherical k-means: centres are directions, and the nearest centre is the
 * one with the largest cosine. */
#include "task/vectors/clusters.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "task/vectors/similar.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_ITERATIONS = 100 };

typedef struct means {
    const tsri_task_rows *rows;
    size_t k;
    float *centres; /* [k, C] directions */
    double *sums;   /* [k, C] */
    size_t *counts; /* [k] */
    float *cosine;  /* [N] cosine to the nearest centre */
} means;

static float cosine_to(const means *m, size_t i, size_t centre) {
    const tsri_task_rows *r = m->rows;
    return tsri_task_dot(r->data + i * r->C, m->centres + centre * r->C, r->C) * r->scale[i];
}

static void set_centre(means *m, size_t centre, size_t row) {
    const tsri_task_rows *r = m->rows;
    for (size_t c = 0; c < r->C; c++)
        m->centres[centre * r->C + c] = r->data[row * r->C + c] * r->scale[row];
}

/* The row at which the running sum of weights reaches `share` of the total; rows of weight 0 are
 * never drawn. */
static size_t drawn(const double *weights, size_t n, double total, double share) {
    size_t last = 0;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(weights[i] > 0))
            continue;
        sum += weights[i];
        last = i;
        if (sum > share * total)
            break;
    }
    return last;
}

/* k-means++: each centre is a row, drawn in proportion to the squared distance to its nearest
 * earlier centre, which for directions is 2 (1 - cosine). Where all distances are 0, any row is
 * taken. */
static tsr_status draw_centres(means *m, double *weights) {
    const tsri_task_rows *r = m->rows;
    double total = 0;
    for (size_t i = 0; i < r->N; i++)
        total += weights[i] = r->scale[i] > 0;
    for (size_t centre = 0; centre < m->k; centre++) {
        const double u = tsri_base_uniform(r->options->seed, 0, centre);
        const size_t row = drawn(weights, r->N, total, u);
        set_centre(m, centre, row);
        total = 0;
        for (size_t i = 0; i < r->N; i++) {
            const double distance = 1 - (double)cosine_to(m, i, centre);
            if (!(weights[i] > 0))
                continue;
            if (i == row || distance <= 0)
                weights[i] = 0;
            else if (centre == 0 || distance < weights[i])
                weights[i] = distance;
            total += weights[i];
        }
        TRY(tsri_task_cluster_tell(r, centre, 2 * m->k));
    }
    return TSR_OK;
}

/* Assigns each row to its nearest centre; true: a row changed its cluster. */
static bool assign(means *m, int32_t *cluster) {
    const tsri_task_rows *r = m->rows;
    bool changed = false;
    for (size_t i = 0; i < r->N; i++) {
        int32_t nearest = -1;
        float best = -FLT_MAX;
        for (size_t c = 0; r->scale[i] > 0 && c < m->k; c++) {
            const float cosine = cosine_to(m, i, c);
            if (cosine > best) {
                best = cosine;
                nearest = (int32_t)c;
            }
        }
        changed |= nearest != cluster[i];
        cluster[i] = nearest;
        m->cosine[i] = best;
    }
    return changed;
}

/* The row that fits its cluster worst, among clusters of at least two rows. */
static size_t worst_row(const means *m, const int32_t *cluster) {
    const tsri_task_rows *r = m->rows;
    size_t worst = r->N;
    for (size_t i = 0; i < r->N; i++)
        if (cluster[i] >= 0 && m->counts[cluster[i]] > 1 &&
            (worst == r->N || m->cosine[i] < m->cosine[worst]))
            worst = i;
    return worst;
}

static void update(means *m, int32_t *cluster) {
    const tsri_task_rows *r = m->rows;
    memset(m->sums, 0, m->k * r->C * sizeof *m->sums);
    memset(m->counts, 0, m->k * sizeof *m->counts);
    for (size_t i = 0; i < r->N; i++)
        if (cluster[i] >= 0) {
            tsri_task_add_direction(r, i, m->sums + (size_t)cluster[i] * r->C);
            m->counts[cluster[i]]++;
        }
    for (size_t c = 0; c < m->k; c++)
        if (m->counts[c])
            tsri_task_direction(m->sums + c * r->C, r->C, m->centres + c * r->C);
    for (size_t c = 0; c < m->k; c++) {
        const size_t row = m->counts[c] ? r->N : worst_row(m, cluster);
        if (row == r->N)
            continue;
        m->counts[cluster[row]]--;
        m->counts[c] = 1;
        m->cosine[row] = 1;
        cluster[row] = (int32_t)c;
        set_centre(m, c, row);
    }
}

static tsr_status run(means *m, int32_t *cluster, uint32_t *passes) {
    const uint32_t most = m->rows->options->max_iterations;
    double *weights = NULL;
    TRY(tsri_base_new(m->rows->N, sizeof *weights, &weights));
    const tsr_status status = draw_centres(m, weights);
    free(weights);
    TRY(status);
    memset(cluster, 0xff, m->rows->N * sizeof *cluster); /* -1 */
    for (*passes = 0; assign(m, cluster); ++*passes) {
        if (*passes == (most ? most : USUAL_ITERATIONS))
            break;
        update(m, cluster);
        TRY(tsri_task_cluster_tell(m->rows, m->k + *passes, 2 * m->k + *passes));
    }
    return TSR_OK;
}

tsr_status tsri_task_k_means(const tsri_task_rows *rows, int32_t *cluster, uint32_t *passes) {
    means m = {.rows = rows, .k = rows->options->k};
    tsr_status status = tsri_base_new(m.k * rows->C, sizeof *m.centres, &m.centres);
    if (status == TSR_OK)
        status = tsri_base_new(m.k * rows->C, sizeof *m.sums, &m.sums);
    if (status == TSR_OK)
        status = tsri_base_new(m.k, sizeof *m.counts, &m.counts);
    if (status == TSR_OK)
        status = tsri_base_new(rows->N, sizeof *m.cosine, &m.cosine);
    if (status == TSR_OK)
        status = run(&m, cluster, passes);
    free(m.centres);
    free(m.sums);
    free(m.counts);
    free(m.cosine);
    return status;
}
