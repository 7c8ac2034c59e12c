/* train/step/deal.h - which rank has which shards of an update.
 *
 * The shards are the leaves of a binary tree, in which their gradients are added in pairs. A node of level l
 * has the 2^l shards first .. first + 2^l - 1, and `first` is a multiple of 2^l. A rank has whole nodes: it
 * adds up each of them alone, and what is above them is added when the ranks put their nodes together. So
 * the order of all sums is the tree's, whichever rank has which nodes.
 */
#ifndef TSRI_TRAIN_STEP_DEAL_H
#define TSRI_TRAIN_STEP_DEAL_H

#include "tessera/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tsri_training_node {
    uint32_t first, level, rank;
} tsri_training_node;

typedef struct tsri_training_deal {
    uint32_t shards, ranks; /* shards: a power of two */
    tsri_training_node *nodes;
    size_t n;   /* nodes, in the order of their shards */
    size_t *of; /* [n] indexes of the nodes, rank by rank; those of a rank in the order of shards */
    size_t *begin; /* [ranks + 1] where those of a rank begin */
    size_t most;   /* nodes of the rank that has most */
} tsri_training_deal;

/* Gives rank r counts[r] shards, each rank in as few nodes as can be: as many as the number has binary
 * digits that are 1. Every count is 1 or more, and their sum is `shards`.
 * owner   the caller clears *out, which begins empty: all 0 */
tsr_status tsri_training_deal_make(uint32_t shards, const uint32_t *counts, uint32_t ranks,
                                   tsri_training_deal *out);
void tsri_training_deal_clear(tsri_training_deal *deal);
/* The nodes of a rank. */
size_t tsri_training_deal_count(const tsri_training_deal *deal, uint32_t rank);
/* The index of node number `i` of a rank. */
size_t tsri_training_deal_index(const tsri_training_deal *deal, uint32_t rank, size_t i);
/* How many shards a rank has. */
uint32_t tsri_training_deal_shards(const tsri_training_deal *deal, uint32_t rank);

/* The counts with which the rank that takes longest is done earliest: rank r takes seconds[r] for a shard,
 * and has at least one. There are no more ranks than shards. Where all take as long, the counts
 * differ by at most 1. */
void tsri_training_deal_by_speed(uint32_t shards, const double *seconds, uint32_t ranks,
                                 uint32_t *counts);

/* Adds the sums of the nodes in pairs, as the tree has them: sums[i * n ..] are n elements of node i. The
 * sum of all comes to the place of node 0; the other places are used. */
void tsri_training_deal_add(const tsri_training_deal *deal, float *sums, int64_t n);

#endif
