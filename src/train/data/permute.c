/* train/data/permute.c - a permutation of n numbers that needs no memory: a Feistel network with
 * cycle walking. */
#include "train/data/permute.h"

#include "base/random.h"

enum { ROUNDS = 6 };

uint64_t tsri_train_permute(uint64_t seed, uint64_t stream, uint64_t n, uint64_t i) {
    int half = 1;
    while (half < 32 && n > (uint64_t)1 << 2 * half)
        half++;
    const uint64_t mask = ((uint64_t)1 << half) - 1;
    do {
        uint64_t left = i >> half, right = i & mask;
        for (uint64_t round = 0; round < ROUNDS; round++) {
            uint32_t bits[4];
            tsri_base_philox(seed, stream, round << 32 | right, bits);
            const uint64_t next = left ^ (bits[0] & mask);
            left = right;
            right = next;
        }
        i = left << half | right;
    } while (i >= n);
    return i;
}
