/* additive_attention_grad/lanes.cl - additive_attention_grad/plain for CPUs: 16 elements side by side.
 *
 *   grid    (max(A, E)/16, B), work-groups of one
 *   operands, reads, adds as additive_attention_grad/plain: the same bytes
 *   needs   float16 in registers (a CPU); A and E multiples of 16
 *   build   HAS_LEN */
#ifndef MATH_FLOAT16
#define MATH_FLOAT16 /* once a program, for all packed kernels */
TSR_DEFINE_MATH(float16, int16)
#endif
typedef float16 __attribute__((aligned(4))) LOCAL_NAME(loose);
#define LOOSE(p) (*(__global LOCAL_NAME(loose) *)(p))
#define LOOSE_IN(p) (*(__global const LOCAL_NAME(loose) *)(p))

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void KERNEL(
#include "additive_attention_grad/operands.clh"
    , __global const float *scratch)
{
    const int a = (int)get_global_id(0) * 16, b = (int)get_global_id(1);
    const int queries = FAR_IN(T), keys = FAR_IN(S), q_step = FAR_IN(qt), k_step = FAR_IN(ks), d_step = FAR_IN(dt), p_step = FAR_IN(pt);
    int n = keys;
    if (b >= FAR_IN(B))
        return;
#if HAS_LEN
    n = max(min(n, len[len0 + b]), 0);
#endif
    if (a < A) {
        const float16 weight = LOOSE_IN(v + v0 + a);
        float16 sum = 0.0f;
        q += q0 + b * FAR_IN(qb) + a;
        k += k0 + b * FAR_IN(kb) + a;
        dq += dq0 + b * queries * A + a;
        dk += dk0 + b * keys * A + a;
        for (int t = 0; t < queries; t++)
            LOOSE(dq + t * A) = 0.0f;
        for (int s = 0; s < keys; s++) {
            float16 dkey = 0.0f, key = 0.0f;
            if (s < n)
                key = LOOSE_IN(k + s * k_step);
            for (int t = 0; t < queries && s < n; t++) {
                const float16 bent = tsr_tanh_float16(LOOSE_IN(q + t * q_step) + key), ds = scratch[(b * queries + t) * keys + s];
                const float16 dx = ds * weight * fma(-bent, bent, (float16)(1.0f));
                LOOSE(dq + t * A) = ORDERED_ADD(dx, LOOSE(dq + t * A));
                dkey = ORDERED_ADD(dx, dkey);
                sum = fma(ds, bent, sum);
            }
            LOOSE(dk + s * A) = dkey;
        }
        LOOSE(dv + dv0 + b * A + a) = sum;
    }
    if (a < E) {
        dy += dy0 + b * FAR_IN(db) + a;
        probabilities += probabilities0 + b * FAR_IN(pb);
        for (int s = 0; s < keys; s++) {
            float16 sum = 0.0f;
            for (int t = 0; t < queries && s < n; t++)
                sum = fma((float16)(probabilities[t * p_step + s]), LOOSE_IN(dy + t * d_step), sum);
            LOOSE(dvalues + dvalues0 + (b * keys + s) * E + a) = sum;
        }
    }
}

#undef LOOSE
#undef LOOSE_IN
#undef HAS_LEN
