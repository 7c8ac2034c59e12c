/* task/vectors/clusters.h - what the two ways of grouping rows share. Both give each row the number
 * of its cluster; cluster.c computes sizes, centres and nearest rows from that. */
#ifndef TSRI_TASK_VECTORS_CLUSTERS_H
#define TSRI_TASK_VECTORS_CLUSTERS_H

#include "tessera/cluster.h"

/* Rows, and 1 / norm of each: 0 for a row of zeros, which belongs to no cluster. */
typedef struct tsri_task_rows {
    const float *data, *scale;
    size_t N, C;
    const tsr_cluster_options *options;
} tsri_task_rows;

/* Each may give clusters any numbers >= 0 below N or k, with gaps; -1: the row is in no cluster. */
tsr_status tsri_task_k_means(const tsri_task_rows *rows, int32_t *cluster, uint32_t *passes);
tsr_status tsri_task_communities(const tsri_task_rows *rows, int32_t *cluster);

/* Adds the direction of row i to sum [C]. */
void tsri_task_add_direction(const tsri_task_rows *rows, size_t i, double *sum);
/* Writes the direction of sum to out [C]: zeros where it has none. */
void tsri_task_direction(const double *sum, size_t C, float *out);
/* Tells the callback; TSR_E_CANCELLED where it asks for that. */
tsr_status tsri_task_cluster_tell(const tsri_task_rows *rows, uint64_t done, uint64_t total);

#endif
