/* base/random.c - Philox 4x32-10, and numbers drawn from it. */
#include "base/random.h"

#include <math.h>

void tsri_base_philox(uint64_t key, uint64_t counter_high, uint64_t counter_low, uint32_t out[4]) {
    const uint64_t multiply_0 = 0xD2511F53u, multiply_1 = 0xCD9E8D57u;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = (uint32_t)counter_low, c1 = (uint32_t)(counter_low >> 32);
    uint32_t c2 = (uint32_t)counter_high, c3 = (uint32_t)(counter_high >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = multiply_0 * c0, p1 = multiply_1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static double fraction(uint32_t high, uint32_t low) {
    return (double)((((uint64_t)high << 32) | low) >> 11) * 0x1p-53;
}

double tsri_base_uniform(uint64_t seed, uint64_t stream, uint64_t position) {
    uint32_t bits[4];
    tsri_base_philox(seed, stream, position, bits);
    return fraction(bits[0], bits[1]);
}

float tsri_base_normal(uint64_t seed, uint64_t stream, uint64_t position) {
    const double two_pi = 6.283185307179586476925286766559;
    uint32_t bits[4];
    tsri_base_philox(seed, stream, position, bits);
    const double radius =
        sqrt(-2.0 * log(1.0 - fraction(bits[0], bits[1]))); /* (0, 1]: the log is finite */
    return (float)(radius * cos(two_pi * fraction(bits[2], bits[3])));
}
