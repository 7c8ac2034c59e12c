/* cross_entropy/lanes.cl - cross_entropy/plain for CPUs: its sixteen partial sums are the lanes of
 * a vector.
 *
 *   grid    (R), work-groups of one work-item: a row each, which the second pass finds in the cache
 *   operands, ignored, order, build as cross_entropy/plain
 *   needs   float16 in registers (a CPU)
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=4 T=32 V=32000
 *           plain          12211      1.3    1.00      4401      3.7    1.00
 *           lanes           1020     16.1   11.97     704.4     23.3    6.25 */
#include "elementwise/math16.clh"
#include "elementwise/sixteen.clh"
#define BLOCK 1024

ENTRY_OF_ONE KERNEL(PLACE __global const float *logits, int logits0, __global const int *targets, int targets0,
                    __global float *loss, int loss0, __global float *lse, int lse0, __global const int *dims, int R,
                    int R_set, int V, int row, float smoothing)
{
    const int r = ITEM(0);
    if (r >= SIZE(R))
        return;
    const int target = targets[targets0 + r], whole = V / 16 * 16;
    if (target < 0 || target >= V) {
        loss[loss0 + r] = 0.0f;
        lse[lse0 + r] = 0.0f;
        return;
    }
    logits += logits0 + r * row;
    float16 high = -INFINITY, high2 = -INFINITY;
    int v = 0;
    for (; v + 32 <= V; v += 32) {
        high = fmax(high, SIXTEEN_OF(logits + v));
        high2 = fmax(high2, SIXTEEN_OF(logits + v + 16));
    }
    high = fmax(high, high2);
    const float8 high8 = fmax(high.lo, high.hi);
    const float4 high4 = fmax(high8.lo, high8.hi);
    float top = fmax(fmax(high4.x, high4.y), fmax(high4.z, high4.w)), total = 0.0f;
    for (; v < V; v++)
        top = fmax(top, logits[v]);
#if SMOOTH
    float all = 0.0f;
#endif
    for (int first = 0; first < V; first += BLOCK) {
        const int end = min(first + BLOCK, whole);
        float16 part = 0.0f;
#if SMOOTH
        float16 mean = 0.0f;
#endif
        for (v = first; v < end; v += 16) {
            const float16 d = SIXTEEN_OF(logits + v) - top;
            part = ORDERED_ADD(tsr_exp_float16(d), part);
#if SMOOTH
            mean = ORDERED_ADD(d, mean);
#endif
        }
        for (; v < min(first + BLOCK, V); v++) {
            const float d = logits[v] - top;
            ((float *)&part)[v & 15] = ORDERED_ADD(tsr_exp_float(d), ((float *)&part)[v & 15]);
#if SMOOTH
            ((float *)&mean)[v & 15] = ORDERED_ADD(d, ((float *)&mean)[v & 15]);
#endif
        }
        const float *sums = (const float *)&part;
        total = ORDERED_ADD(SUM16(sums), total);
#if SMOOTH
        const float *means = (const float *)&mean;
        all = ORDERED_ADD(SUM16(means), all);
#endif
    }
#include "cross_entropy/finish.clh"
}

#undef SIXTEEN
#undef SIXTEEN_OF
#undef BLOCK
