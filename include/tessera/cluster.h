/* tessera/cluster.h - groups of similar rows, by cosine: k-means, or communities above a
 * threshold. */
#ifndef TESSERA_CLUSTER_H
#define TESSERA_CLUSTER_H

#include "tessera/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_cluster_options {
    uint32_t struct_size;
    uint32_t k;        /**< > 0: k-means with k clusters; 0: communities */
    float threshold;   /**< communities: rows whose cosine reaches it are neighbours. (0, 1] */
    uint32_t min_size; /**< communities: the fewest rows of a community; 0: 2 */
    uint64_t seed;     /**< k-means: decides the first centres */
    uint32_t max_iterations; /**< k-means; 0: 100 */
    uint32_t reserved;
    /** Told how much of the work is done, and how much there is; returns not 0 to cancel. May be
     * NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
} tsr_cluster_options;

/** Clusters are numbered by size, the largest first; those of equal size by their first row. */
typedef struct tsr_clusters {
    uint64_t rows;
    uint32_t n;              /**< clusters: with k-means at most k, as no cluster is empty */
    uint32_t passes;         /**< k-means: iterations until nothing changed */
    const int32_t *cluster;  /**< [rows] the cluster of each row; -1: in no cluster */
    const float *cosine;     /**< [rows] to the centre of the row's cluster; 0: in no cluster */
    const uint64_t *size;    /**< [n] how many rows each cluster has */
    const uint64_t *nearest; /**< [n] the row nearest the centre, the first of equal ones */
} tsr_clusters;

/**
 * Groups rows of numbers by the angle between them; their lengths do not matter. A row of zeros
 * belongs to no cluster.
 *
 * k-means      spherical: a row belongs to the centre with the largest cosine; a centre is the
 *              direction of the sum of its rows' directions. The first centres are drawn by
 *              k-means++ from the counter-based generator, so a seed always gives the same bytes.
 * communities  the first community is the row with the most neighbours, with these neighbours; the
 *              next is found in the same way among the rows that are left, and so on, as
 *              sentence-transformers' community_detection does. The centre is the direction of the
 *              sum. Rows with too few neighbours are in no community.
 *
 * shape   vectors: [N, C]; N may be 0
 * owner   the caller frees *out with tsr_clusters_free
 * alloc   k-means: N + k C numbers, k C of them doubles; communities: N + C. Time of an iteration
 *         of k-means: N k C; of communities: N^2 C
 * thread  any
 * error   TSR_E_ARGUMENT   an option is out of its range; fewer than k rows are not zero
 *         TSR_E_FORMAT     a number is not finite: the sentence names the row
 *         TSR_E_CANCELLED  progress asked for it
 * source  Arthur, Vassilvitskii 2007, k-means++; Dhillon, Modha 2001, concept decompositions
 */
TSR_API tsr_status tsr_cluster(const float *vectors, uint64_t N, uint32_t C,
                               const tsr_cluster_options *options, tsr_clusters **out);
/** Frees them. *clusters may be NULL, and is NULL afterwards. */
TSR_API void tsr_clusters_free(tsr_clusters **clusters);

#ifdef __cplusplus
}
#endif
#endif
