/* task/vectors/clusters.h - between the two ways of grouping rows: both number rows by cluster,
 * and what follows from that (sizes, centres, the nearest rows) is made once, in cluster.c. */
#ifndef TSRI_TASK_VECTORS_CLUSTERS_H
#define TSRI_TASK_VECTORS_CLUSTERS_H

#include "tessera/cluster.h"

/* Rows, and 1 / norm of each: 0 for a row of zeros, which is in no cluster. */
typedef struct tsri_task_rows {
    const float *data, *scale;
    size_t N, C;
    const tsr_cluster_options *options;
} tsri_task_rows;

/* Each gives clusters any numbers >= 0, gaps allowed, below N or k; -1 for a row in none. */
tsr_status tsri_task_k_means(const tsri_task_rows *rows, int32_t *cluster, uint32_t *passes);
tsr_status tsri_task_communities(const tsri_task_rows *rows, int32_t *cluster);

/* Adds the direction of row i to sum [C]. */
void tsri_task_add_direction(const tsri_task_rows *rows, size_t i, double *sum);
/* The direction of sum into out [C]: zeros where it has none. */
void tsri_task_direction(const double *sum, size_t C, float *out);
/* TSR_E_CANCELLED where the callback asks for it. */
tsr_status tsri_task_cluster_tell(const tsri_task_rows *rows, uint64_t done, uint64_t total);

#endif
