/* train/data/permute.h - a shuffled order of any length that needs no memory: each place is a
 * function of the seed alone. */
#ifndef TSRI_TRAIN_DATA_PERMUTE_H
#define TSRI_TRAIN_DATA_PERMUTE_H

#include <stdint.h>

/* The image of i (below n) under permutation number `stream` of 0 .. n - 1 for this seed. A Feistel
 * network over the smallest even number of bits that holds n; it is applied again where the result
 * is n or above (cycle walking).
 * source  Black, Rogaway 2002, "Ciphers with arbitrary finite domains" */
uint64_t tsri_train_permute(uint64_t seed, uint64_t stream, uint64_t n, uint64_t i);

#endif
