/* additive_attention/scores.cl - the stage before additive_attention/lanes: the score of each key
 * for each query.
 *
 *   grid    (S, T, B), work-groups of one work-item: a key and a query, 16 elements in lanes
 *   gives   scratch[(b*T + t)*S + s], for s < len[b]
 *   operands, order, build as additive_attention/plain: the same bytes
 *   needs   float16 in registers (a CPU)
 *   paid    its time is part of the figures of additive_attention/lanes, the variant that it
 *           precedes; it was not timed alone */
#include "elementwise/math16.clh"

ENTRY_OF_ONE KERNEL(PLACE
#include "additive_attention/operands.clh"
    , __global float *scratch)
{
    const int s = ITEM(0), t = ITEM(1), b = ITEM(2);
    const int queries = FAR(T), keys = FAR(S);
    if (t >= queries || b >= FAR(B))
        return;
#include "additive_attention/sequence.clh"
    if (s >= n)
        return;
    q += q0 + b * FAR(qb) + t * FAR(qt);
    k += k0 + j * FAR(kj) + s * FAR(ks);
    v += v0;
    float sum[16] __attribute__((aligned(64)));
    float16 part = 0.0f;
    int a = 0;
    for (; a + 16 <= A; a += 16) {
        float16 x = LOAD16_ANY(TSR_DTYPE_F32, q + a) + LOAD16_ANY(K_DTYPE, k + a);
        part = fma(LOAD16_ANY(TSR_DTYPE_F32, v + a), tsr_tanh_float16(x), part);
    }
    *(float16 *)sum = part;
    for (int i = 0; a + i < A; i++)
        sum[i] = fma(v[a + i], tsr_tanh_float(q[a + i] + LOAD(K_DTYPE, k, a + i)), sum[i]);
    for (int i = 0; i < 8; i++)
        sum[i] += sum[i + 8];
    scratch[(b * queries + t) * keys + s] = SUM8(sum);
}
