/* dropout/lanes.cl - dropout/plain for CPUs: sixteen counters to a vector.
 *
 *   grid    (N/SPAN), work-groups of one work-item
 *   x, y    contiguous; numbers and alias as dropout/plain
 *   needs   float16 in registers (a CPU)
 *   paid    4 million elements, pocl 3.1, 2 Zen 4 cores: 3.24 ms (10 GB/s), plain 29.20. Ten rounds
 *           of Philox, not memory, take the time */
#include "elementwise/sixteen.clh"
#define SPAN 2048
/* The elements of four counters from c on, a word each. */
#define FOUR(a, b, c, d)                                                                                    \
    (uint16)(word0.a, word1.a, word2.a, word3.a, word0.b, word1.b, word2.b, word3.b, word0.c, word1.c, word2.c, word3.c, \
             word0.d, word1.d, word2.d, word3.d)
#define KEEP(at, words) \
    SIXTEEN(y + (at)) = (words) >= (uint)threshold ? SIXTEEN_OF(x + (at)) * scale : (float16)(0.0f)

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const int *seed, int seed0, __global float *y,
                    int y0, __global const int *dims, int N, int N_set, int site, int threshold, float scale)
{
    const int n = SIZE(N), begin = ITEM(0) * SPAN, end = n - begin < SPAN ? n : begin + SPAN;
    const uint16 numbers = (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    x += x0;
    y += y0;
    for (int i = begin; i < end; i += 64) {
        uint k0 = (uint)seed[seed0], k1 = (uint)seed[seed0 + 1];
        uint16 word0 = numbers + (uint)(i / 4), word1 = (uint)site, word2 = (uint)seed[seed0 + 2],
               word3 = (uint)seed[seed0 + 3];
        for (int round = 0; round < 10; round++) {
            const uint16 low0 = 0xD2511F53u * word0, high0 = mul_hi((uint16)(0xD2511F53u), word0),
                         low1 = 0xCD9E8D57u * word2, high1 = mul_hi((uint16)(0xCD9E8D57u), word2);
            word0 = high1 ^ word1 ^ k0;
            word2 = high0 ^ word3 ^ k1;
            word1 = low1;
            word3 = low0;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        if (i + 64 <= end) {
            KEEP(i, FOUR(s0, s1, s2, s3));
            KEEP(i + 16, FOUR(s4, s5, s6, s7));
            KEEP(i + 32, FOUR(s8, s9, sa, sb));
            KEEP(i + 48, FOUR(sc, sd, se, sf));
            continue;
        }
        const uint *words[4] = {(const uint *)&word0, (const uint *)&word1, (const uint *)&word2, (const uint *)&word3};
        for (int k = i; k < end; k++)
            y[k] = words[k & 3][(k - i) >> 2] >= (uint)threshold ? x[k] * scale : 0.0f;
    }
}

#undef SIXTEEN
#undef SIXTEEN_OF
#undef FOUR
#undef KEEP
#undef SPAN
