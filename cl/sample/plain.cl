/* sample/plain.cl - draws an index from the softmax of the largest logits of each row.
 *
 *   grid    (R), one work-item for a row
 *   values, indices  [R,k] contiguous, the largest first
 *   rate    [R]; settings [R,4]: top_k, top_p, min_p, random, as op.h has them
 *   y       [R]
 *   exact   sums are integers of 64 bits, in two halves: every variant draws the same
 *   needs   nothing beyond OpenCL C 1.1
 *   paid    the baseline. 2 Zen 4 cores, pocl 3.1, best runs of tessera verify --bench; ratio: how many
 *           times as fast as plain.
 *
 *           variant           us   ratio
 *           R=1 k=40
 *           plain            0.6    1.00
 *           group            2.3    0.26
 *
 *           R=64 k=256
 *           plain          261.2    1.00
 *           group          112.8    2.32 */
#include "sample/weight.clh"

/* low and high: the halves of a sum */
#define GROW(sum, by)                    \
    {                                    \
        const uint grown = sum##_low + (by); \
        sum##_high += grown < sum##_low; \
        sum##_low = grown;               \
    }
/* to = sum * of / 2^32, rounded down */
#define SHARE(to, sum, of)                               \
    {                                                    \
        to##_low = mul_hi(sum##_low, of);                \
        to##_high = mul_hi(sum##_high, of);              \
        GROW(to, sum##_high * (of))                      \
    }
#define REACHES(sum, other) (sum##_high > other##_high || (sum##_high == other##_high && sum##_low >= other##_low))

ENTRY KERNEL(PLACE __global const float *values, int values0, __global const int *indices, int indices0,
             __global const float *rate, int rate0, __global const int *settings, int settings0, __global int *y,
             int y0, __global const int *dims, int R, int R_set, int k)
{
    const int r = ITEM(0);
    if (r >= SIZE(R))
        return;
    values += values0 + r * k;
    indices += indices0 + r * k;
    settings += settings0 + r * 4;
    const float factor = rate[rate0 + r], largest = values[0];
    const int first = settings[0], n = first > 0 && first < k ? first : k;
    const uint top_p = (uint)settings[1], min_p = (uint)settings[2], random = (uint)settings[3];

    int drawn = 0;
    if (!isfinite(largest))
        drawn = isnan(largest) ? -1 : largest > 0.0f ? -3 : -2;
    else if (factor != 0.0f) {
        uint all_low = 0, all_high = 0, most_low = 0xffffffffu, most_high = 0xffffffffu;
        if (top_p < 0xffffffffu) {
            for (int i = 0; i < n; i++)
                GROW(all, DRAW_WEIGHT(values[i], largest, factor))
            SHARE(most, all, top_p)
        }
        uint kept_low = 0, kept_high = 0;
        for (int i = 0; i < n; i++) {
            const uint own = DRAW_WEIGHT(values[i], largest, factor);
            if (i > 0 && (own < min_p || REACHES(kept, most)))
                break;
            GROW(kept, own)
        }
        uint share_low, share_high, sum_low = 0, sum_high = 0;
        SHARE(share, kept, random)
        for (drawn = -1; drawn < n - 1 && REACHES(share, sum);)
            GROW(sum, DRAW_WEIGHT(values[++drawn], largest, factor))
    }
    y[y0 + r] = drawn < 0 ? drawn : indices[drawn];
}

#undef GROW
#undef SHARE
#undef REACHES
