/* tessera/cluster.h - groups of similar rows, by cosine: k-means, or communities above a threshold.
 */
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
    uint32_t k;        /**< > 0: k-means with so many clusters; 0: communities */
    float threshold;   /**< communities: rows whose cosine reaches it are neighbours. (0, 1] */
    uint32_t min_size; /**< communities: the fewest rows of one; 0: 2 */
    uint64_t seed;     /**< k-means: of the first centres */
    uint32_t max_iterations; /**< k-means; 0: 100 */
    uint32_t reserved;
    /** Work done so far, and in all. Not 0 cancels. May be NULL. */
    int (*progress)(void *data, uint64_t done, uint64_t total);
    void *progress_data;
} tsr_cluster_options;

/** Clusters are numbered by size, the largest first, equal ones by their first row. */
typedef struct tsr_clusters {
    uint64_t rows;
    uint32_t n;              /**< clusters: at most k of k-means, as none is empty */
    uint32_t passes;         /**< k-means: iterations until nothing changed */
    const int32_t *cluster;  /**< [rows] -1: in none */
    const float *cosine;     /**< [rows] to the centre of its cluster; 0 for those in none */
    const uint64_t *size;    /**< [n] rows of a cluster */
    const uint64_t *nearest; /**< [n] the row nearest the centre, the first of equal ones */
} tsr_clusters;

/**
 * Groups rows of numbers by the angle between them; their lengths do not count. A row of zeros
 * belongs to no cluster.
 *
 * k-means      spherical: a row belongs to the centre with the largest cosine, a centre is the
 *              direction of the sum of its rows' directions. The first centres are drawn by
 *              k-means++ from the counter-based generator, so a seed gives the same bytes always.
 * communities  the row with the most neighbours and these are the first, then the next among the
 *              rows that are left, and so on: sentence-transformers' community_detection. The
 *              centre is the direction of the sum. Rows with too few neighbours are in none.
 *
 * shape   vectors: [N, C]; N may be 0
 * alloc   k-means: (N + k C) numbers, k C of them doubles; communities: N + C. Time: N k C an
 *         iteration; N^2 C
 * owner   the caller frees *out
 * error   TSR_E_ARGUMENT   an option out of range; more clusters than rows that are not zero
 *         TSR_E_FORMAT     a number is not finite: the row is named
 *         TSR_E_CANCELLED  progress asked for it
 * source  Arthur, Vassilvitskii 2007, k-means++; Dhillon, Modha 2001, concept decompositions
 */
TSR_API tsr_status tsr_cluster(const float *vectors, uint64_t N, uint32_t C,
                               const tsr_cluster_options *options, tsr_clusters **out);
TSR_API void tsr_clusters_free(tsr_clusters **clusters); /**< takes NULL content; leaves NULL */

#ifdef __cplusplus
}
#endif
#endif
