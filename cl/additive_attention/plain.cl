/* additive_attention/plain.cl - y = sum_s p[s] values[s], p = softmax over s < len of sum_a v[a]
 * tanh(q[a] + k[s,a]).
 *
 *            S keys
 *           +---+---+---+----+       a query with its keys, or a part of its result, is owned by
 *   T       | 0 | 1 | 2 | .. |
 *   queries +---+---+---+----+       plain   a work-item: 1 query; each score is formed twice
 *   of one  | 0 | 1 | 2 | .. |       lanes   a work-item (CPUs): 64 elements of the result of
 *   sequence+---+---+---+----+               1 query, from the scores that a stage formed once
 *
 *   grid    (T, B), one work-item each: a query; y holds its sum
 *   q       q[b,t,a] at q0 + b*qb + t*qt + a; y and probabilities likewise
 *   k       k[j,s,a] at k0 + j*kj + s*ks + a; values likewise
 *   order   a score: 16 partial sums (an array: see SUM8), then a tree of halves; the sums of
 *           probabilities and values over ascending s. Scores are formed twice, so that none need
 *           be kept
 *   masked  a query that sees no key gives 0
 *   needs   nothing beyond OpenCL C 1.1
 *   build   K_DTYPE, VALUES_DTYPE; HAS_LEN, HAS_SLOT, HAS_PROBABILITIES
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                   pocl             Intel
 *           variant           us   ratio        us   ratio
 *           B=8 T=1 S=32 A=512 E=1024 a step
 *           plain           2176    1.00     799.0    1.00
 *           lanes           64.7   33.63      45.6   17.53
 *
 *           B=8 T=32 S=32 A=512 E=1024 training
 *           plain          35774    1.00     20007    1.00
 *           lanes           1909   18.74      1221   16.38
 *   source  Bahdanau, Cho, Bengio 2015, arXiv:1409.0473 */

float LOCAL_NAME(score)(__global const float *q, __global const ELEMENT(K_DTYPE) *k, int at, __global const float *v, int A)
{
    float sum[16];
    for (int i = 0; i < 16; i++)
        sum[i] = 0.0f;
    for (int a = 0; a < A; a++)
        sum[a & 15] = fma(v[a], tsr_tanh_float(q[a] + LOAD(K_DTYPE, k, at + a)), sum[a & 15]);
    for (int i = 0; i < 8; i++)
        sum[i] += sum[i + 8];
    return SUM8(sum);
}

ENTRY KERNEL(PLACE
#include "additive_attention/operands.clh"
)
{
    const int t = ITEM(0), b = ITEM(1);
    if (t >= FAR(T) || b >= FAR(B))
        return;
    const int keys = FAR(S), k_step = FAR(ks), value_step = FAR(vs);
#include "additive_attention/sequence.clh"
    q += q0 + b * FAR(qb) + t * FAR(qt);
    v += v0;
    y += y0 + b * FAR(yb) + t * FAR(yt);
    const int k_at = k0 + j * FAR(kj), value_at = values0 + j * FAR(vj);
#if HAS_PROBABILITIES
    probabilities += probabilities0 + b * FAR(pb) + t * FAR(pt);
#endif

    float top = -INFINITY, total = 0.0f;
    for (int s = 0; s < n; s++)
        top = fmax(top, LOCAL_NAME(score)(q, k, k_at + s * k_step, v, A));
    for (int e = 0; e < E; e++)
        y[e] = 0.0f;
    for (int s = 0; s < n; s++) {
        const float p = tsr_exp_float(LOCAL_NAME(score)(q, k, k_at + s * k_step, v, A) - top);
        total = ORDERED_ADD(p, total);
        for (int e = 0; e < E; e++)
            y[e] = fma(LOAD(VALUES_DTYPE, values, value_at + s * value_step + e), p, y[e]);
#if HAS_PROBABILITIES
        probabilities[s] = p;
#endif
    }
    const float share = total == 0.0f ? 0.0f : 1.0f / total;
    for (int e = 0; e < E; e++)
        y[e] *= share;
#if HAS_PROBABILITIES
    for (int s = 0; s < keys; s++)
        probabilities[s] = s < n ? probabilities[s] * share : 0.0f;
#endif
}
