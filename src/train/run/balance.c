/* train/run/balance.c - measures the ranks, and decides when their shards are dealt anew. */
#include "train/run/balance.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

enum {
    SKIPPED = 1, /* steps after a deal that are not measured: kernels may be built in them */
    WINDOW = 5   /* steps that are measured; the median of a rank counts */
};
static const double worth = 0.95; /* of the time of the slowest rank */

struct tsri_train_balance {
    uint32_t ranks;
    int step;         /* of those skipped and measured */
    double *samples;  /* [ranks * WINDOW] seconds for a shard */
    double *took;     /* [ranks] seconds of this step */
    double *a_shard;  /* [ranks] medians */
    uint32_t *counts; /* [ranks] */
};

tsr_status tsri_train_balance_create(uint32_t ranks, tsri_train_balance **out) {
    tsri_train_balance *b = NULL;
    *out = NULL;
    TRY(tsri_base_new(1, sizeof *b, &b));
    b->ranks = ranks;
    tsr_status status = tsri_base_new((size_t)ranks * WINDOW, sizeof *b->samples, &b->samples);
    if (status == TSR_OK)
        status = tsri_base_new(ranks, sizeof *b->took, &b->took);
    if (status == TSR_OK)
        status = tsri_base_new(ranks, sizeof *b->a_shard, &b->a_shard);
    if (status == TSR_OK)
        status = tsri_base_new(ranks, sizeof *b->counts, &b->counts);
    if (status != TSR_OK)
        tsri_train_balance_destroy(&b);
    *out = b;
    return status;
}

void tsri_train_balance_destroy(tsri_train_balance **balance) {
    tsri_train_balance *b = *balance;
    if (!b)
        return;
    free(b->samples);
    free(b->took);
    free(b->a_shard);
    free(b->counts);
    free(b);
    *balance = NULL;
}

void tsri_train_balance_took(tsri_train_balance *b, uint32_t rank, double seconds) {
    b->took[rank] = seconds;
}

const double *tsri_train_balance_seconds(const tsri_train_balance *b) {
    return b->a_shard;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *samples) {
    qsort(samples, WINDOW, sizeof *samples, by_size);
    return samples[WINDOW / 2];
}

/* Seconds of the rank that takes longest. */
static double slowest(const tsri_train_balance *b, const tsri_training_deal *deal) {
    double most = 0;
    for (uint32_t r = 0; r < b->ranks; r++) {
        const double seconds =
            b->a_shard[r] * (deal ? tsri_training_deal_shards(deal, r) : b->counts[r]);
        most = seconds > most ? seconds : most;
    }
    return most;
}

bool tsri_train_balance_step(tsri_train_balance *b, const tsri_training_deal *deal,
                             const uint32_t **counts) {
    const int at = b->step++ - SKIPPED;
    for (uint32_t r = 0; r < b->ranks && at >= 0; r++)
        b->samples[r * WINDOW + (uint32_t)at] = b->took[r] / tsri_training_deal_shards(deal, r);
    if (at + 1 < WINDOW)
        return false;
    for (uint32_t r = 0; r < b->ranks; r++)
        b->a_shard[r] = median(b->samples + (size_t)r * WINDOW);
    tsri_training_deal_by_speed(deal->shards, b->a_shard, b->ranks, b->counts);
    const bool anew = slowest(b, NULL) < worth * slowest(b, deal);
    b->step = anew ? 0 : SKIPPED; /* else the next window follows at once */
    *counts = b->counts;
    return anew;
}
