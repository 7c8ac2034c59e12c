/* additive_attention/lanes.cl - additive_attention/plain for CPUs, 16 elements of a value in lanes.
 *
 *   grid    (E/64, T, B), work-groups of one work-item: 64 elements of the result of a query
 *   reads   scratch[(b*T + t)*S + s], from additive_attention/scores
 *   adds    over additive_attention/plain: a stage forms each score once, where plain forms it
 *           twice
 *   operands, order, build as additive_attention/plain: the same bytes
 *   needs   float16 in registers (a CPU)
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain. The figures include the stage before
 *           it.
 *
 *                                   pocl             Intel
 *           variant           us   ratio        us   ratio
 *           B=8 T=1 S=32 A=512 E=1024 a step
 *           plain           2176    1.00     799.0    1.00
 *           lanes           64.7   33.63      45.6   17.53
 *
 *           B=8 T=32 S=32 A=512 E=1024 training
 *           plain          35774    1.00     20007    1.00
 *           lanes           1909   18.74      1221   16.38 */
#define WIDE 64
#include "elementwise/sixteen.clh"

ENTRY_OF_ONE KERNEL(PLACE
#include "additive_attention/operands.clh"
    , __global const float *scratch)
{
    const int first = ITEM(0) * WIDE, t = ITEM(1), b = ITEM(2);
    const int queries = FAR(T), keys = FAR(S), value_step = FAR(vs);
    if (first >= E || t >= queries || b >= FAR(B))
        return;
#include "additive_attention/sequence.clh"
    scratch += (b * queries + t) * keys;
    values += values0 + j * FAR(vj) + first;
    y += y0 + b * FAR(yb) + t * FAR(yt) + first;
    const int width = min(WIDE, E - first), whole = width / 16;

    float top = -INFINITY, total = 0.0f;
    float16 sum[WIDE / 16];
    float tail[16];
    for (int s = 0; s < n; s++)
        top = fmax(top, scratch[s]);
    for (int i = 0; i < WIDE / 16; i++)
        sum[i] = 0.0f;
    for (int i = 0; i < 16; i++)
        tail[i] = 0.0f;
    for (int s = 0; s < n; s++, values += value_step) {
        const float p = tsr_exp_float(scratch[s] - top);
        total = ORDERED_ADD(p, total);
        for (int i = 0; i < whole; i++)
            sum[i] = fma(LOAD16_ANY(VALUES_DTYPE, values + i * 16), (float16)(p), sum[i]);
        for (int i = whole * 16; i < width; i++)
            tail[i & 15] = fma(LOAD(VALUES_DTYPE, values, i), p, tail[i & 15]);
    }
    const float share = total == 0.0f ? 0.0f : 1.0f / total;
    for (int i = 0; i < whole; i++)
        SIXTEEN(y + i * 16) = sum[i] * share;
    for (int i = whole * 16; i < width; i++)
        y[i] = tail[i & 15] * share;
#if HAS_PROBABILITIES
    if (first == 0) {
        probabilities += probabilities0 + b * FAR(pb) + t * FAR(pt);
        for (int s = 0; s < keys; s++)
            probabilities[s] = s < n ? tsr_exp_float(scratch[s] - top) * share : 0.0f;
    }
#endif
}

#undef WIDE
#undef SIXTEEN
#undef SIXTEEN_OF
