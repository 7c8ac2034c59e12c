/* train/data/permute.h - a shuffled order of any length, without memory: place i is a function of
 * the key alone. */
#ifndef TSRI_TRAIN_DATA_PERMUTE_H
#define TSRI_TRAIN_DATA_PERMUTE_H

#include <stdint.h>

/* Where i (below n) goes in permutation number `stream` of 0 .. n - 1 under `seed`. A Feistel
 * network over the least even number of bits that holds n; what falls outside walks on.
 * source  Black, Rogaway 2002, "Ciphers with arbitrary finite domains" */
uint64_t tsri_train_permute(uint64_t seed, uint64_t stream, uint64_t n, uint64_t i);

#endif
