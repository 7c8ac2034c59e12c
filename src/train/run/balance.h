/* train/run/balance.h - measures how long each rank takes for a shard, and says which shards each should
 * have. Every rank has the same measurements, so all come to the same result. */
#ifndef TSRI_TRAIN_RUN_BALANCE_H
#define TSRI_TRAIN_RUN_BALANCE_H

#include "train/step/deal.h"

#include <stdbool.h>

typedef struct tsri_train_balance tsri_train_balance;

tsr_status tsri_train_balance_create(uint32_t ranks, tsri_train_balance **out);
void tsri_train_balance_destroy(tsri_train_balance **balance);
/* In this step, rank `rank` computed for so many seconds. */
void tsri_train_balance_took(tsri_train_balance *balance, uint32_t rank, double seconds);
/* A step is over, in which the shards were dealt like this. true: enough steps were measured, and the rank
 * that takes longest would be done at least a twentieth earlier with *counts, an array of as many numbers as
 * there are ranks; the caller deals the shards so. */
bool tsri_train_balance_step(tsri_train_balance *balance, const tsri_training_deal *deal,
                             const uint32_t **counts);
/* The seconds that each rank takes for a shard, as measured last. */
const double *tsri_train_balance_seconds(const tsri_train_balance *balance);

#endif
