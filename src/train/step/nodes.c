/* train/step/nodes.c - the nodes that this rank has of the tree over the shards. */
#include "base/error.h"
#include "base/memory.h"
#include "train/step/training_state.h"
#include "transport/ranks.h"

#include <stdlib.h>

const tsri_training_deal *tsri_training_dealt(const tsri_training *t) {
    return &t->deal;
}

size_t tsri_training_own_nodes(const tsri_training *t) {
    return tsri_training_deal_count(&t->deal, tsri_ranks_rank(t->options.ranks));
}

const tsri_training_node *tsri_training_own_node(const tsri_training *t, size_t i) {
    return &t->deal.nodes[tsri_training_deal_index(&t->deal, tsri_ranks_rank(t->options.ranks), i)];
}

/* All ranks get as many shards, or nearly so. */
tsr_status tsri_training_deal_equally(tsri_training *t) {
    const uint32_t size = tsri_ranks_size(t->options.ranks),
                   shards = t->options.shards ? t->options.shards : 1;
    double *same = NULL;
    uint32_t *counts = NULL;
    tsr_status status = tsri_base_new(size, sizeof *same, &same);
    if (status == TSR_OK)
        status = tsri_base_new(size, sizeof *counts, &counts);
    for (uint32_t r = 0; r < size && status == TSR_OK; r++)
        same[r] = 1;
    if (status == TSR_OK) {
        tsri_training_deal_by_speed(shards, same, size, counts);
        status = tsri_training_deal_make(shards, counts, size, &t->deal);
    }
    free(same);
    free(counts);
    return status;
}
