/* additive_attention_grad/plain.cl - dq, dk, dv and dvalues of additive_attention, from its
 * probabilities.
 *
 *     dx = ds v (1 - tanh^2(q + k))    dq = sum_s dx    dk = sum_t dx
 *     dv = sum_t sum_s ds tanh(q + k)  dvalues = sum_t p dy
 *
 *   grid    (max(A, E), B), one work-item each: element a of q, k and v and element e of values, of
 *           one sequence
 *   q       q[b,t,a] at q0 + b*qb + t*qt + a; dy, k, values and probabilities likewise; the results
 *           are contiguous, and dq holds its own sums
 *   reads   scratch[(b*T + t)*S + s] = ds, from additive_attention_grad/scores
 *   order   dq and dk over ascending s and t; dv by key, within one by query; dvalues by fma over
 *           ascending t
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_LEN
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain. The figures include the
 *           stage before it.
 *
 *                                   pocl             Intel
 *           variant           us   ratio        us   ratio
 *           B=8 T=32 S=32 A=512 E=1024 training
 *           plain          31860    1.00      3631    1.00
 *           lanes           2706   11.77      2214    1.64
 *   source  Bahdanau, Cho, Bengio 2015, arXiv:1409.0473 */

ENTRY KERNEL(PLACE
#include "additive_attention_grad/operands.clh"
    , __global const float *scratch)
{
    const int a = ITEM(0), b = ITEM(1);
    const int queries = FAR_IN(T), keys = FAR_IN(S);
    int n = keys;
    if (b >= FAR_IN(B))
        return;
#if HAS_LEN
    n = max(min(n, len[len0 + b]), 0);
#endif
    if (a < A) {
        const float weight = v[v0 + a];
        float sum = 0.0f;
        q += q0 + b * FAR_IN(qb) + a;
        k += k0 + b * FAR_IN(kb) + a;
        dq += dq0 + b * queries * A + a;
        dk += dk0 + b * keys * A + a;
        for (int t = 0; t < queries; t++)
            dq[t * A] = 0.0f;
        for (int s = 0; s < keys; s++) {
            float dkey = 0.0f;
            for (int t = 0; t < queries && s < n; t++) {
                const float bent = tsr_tanh_float(q[t * FAR_IN(qt)] + k[s * FAR_IN(ks)]);
                const float ds = scratch[(b * queries + t) * keys + s], dx = ds * weight * fma(-bent, bent, 1.0f);
                dq[t * A] = ORDERED_ADD(dx, dq[t * A]);
                dkey = ORDERED_ADD(dx, dkey);
                sum = fma(ds, bent, sum);
            }
            dk[s * A] = dkey;
        }
        dv[dv0 + b * A + a] = sum;
    }
    if (a < E) {
        dy += dy0 + b * FAR_IN(db) + a;
        probabilities += probabilities0 + b * FAR_IN(pb);
        for (int s = 0; s < keys; s++) {
            float sum = 0.0f;
            for (int t = 0; t < queries && s < n; t++)
                sum = fma(probabilities[t * FAR_IN(pt) + s], dy[t * FAR_IN(dt)], sum);
            dvalues[dvalues0 + (b * keys + s) * E + a] = sum;
        }
    }
}
