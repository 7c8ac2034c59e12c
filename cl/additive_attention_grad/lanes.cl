/* additive_attention_grad/lanes.cl - additive_attention_grad/plain for CPUs, 16 elements in lanes.
 *
 *   grid    (max(A, E)/16, B), work-groups of one work-item
 *   operands, reads, order as additive_attention_grad/plain: the same bytes
 *   needs   float16 in registers (a CPU); A and E multiples of 16
 *   build   HAS_LEN
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain. The figures include the stage before
 *           it.
 *
 *                                   pocl             Intel
 *           variant           us   ratio        us   ratio
 *           B=8 T=32 S=32 A=512 E=1024 training
 *           plain          31860    1.00      3631    1.00
 *           lanes           2706   11.77      2214    1.64 */
#include "elementwise/math16.clh"
#include "elementwise/sixteen.clh"

ENTRY_OF_ONE KERNEL(PLACE
#include "additive_attention_grad/operands.clh"
    , __global const float *scratch)
{
    const int a = ITEM(0) * 16, b = ITEM(1);
    const int queries = FAR_IN(T), keys = FAR_IN(S), q_step = FAR_IN(qt), k_step = FAR_IN(ks), d_step = FAR_IN(dt), p_step = FAR_IN(pt);
    int n = keys;
    if (b >= FAR_IN(B))
        return;
#if HAS_LEN
    n = max(min(n, len[len0 + b]), 0);
#endif
    if (a < A) {
        const float16 weight = SIXTEEN_OF(v + v0 + a);
        float16 sum = 0.0f;
        q += q0 + b * FAR_IN(qb) + a;
        k += k0 + b * FAR_IN(kb) + a;
        dq += dq0 + b * queries * A + a;
        dk += dk0 + b * keys * A + a;
        for (int t = 0; t < queries; t++)
            SIXTEEN(dq + t * A) = 0.0f;
        for (int s = 0; s < keys; s++) {
            float16 dkey = 0.0f, key = 0.0f;
            if (s < n)
                key = SIXTEEN_OF(k + s * k_step);
            for (int t = 0; t < queries && s < n; t++) {
                const float16 bent = tsr_tanh_float16(SIXTEEN_OF(q + t * q_step) + key), ds = scratch[(b * queries + t) * keys + s];
                const float16 dx = ds * weight * fma(-bent, bent, (float16)(1.0f));
                SIXTEEN(dq + t * A) = ORDERED_ADD(dx, SIXTEEN(dq + t * A));
                dkey = ORDERED_ADD(dx, dkey);
                sum = fma(ds, bent, sum);
            }
            SIXTEEN(dk + s * A) = dkey;
        }
        SIXTEEN(dv + dv0 + b * A + a) = sum;
    }
    if (a < E) {
        dy += dy0 + b * FAR_IN(db) + a;
        probabilities += probabilities0 + b * FAR_IN(pb);
        for (int s = 0; s < keys; s++) {
            float16 sum = 0.0f;
            for (int t = 0; t < queries && s < n; t++)
                sum = fma((float16)(probabilities[t * p_step + s]), SIXTEEN_OF(dy + t * d_step), sum);
            SIXTEEN(dvalues + dvalues0 + (b * keys + s) * E + a) = sum;
        }
    }
}

#undef SIXTEEN
#undef SIXTEEN_OF
