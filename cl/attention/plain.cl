/* attention/plain.cl - y = softmax(scale <q, k> + bias over the visible keys) v, without a T x S buffer.
 *
 *   grid    (T, H, B), one work-item each: one query of one head; g = h / (H/G)
 *   q[b,t,h,d] at q0 + b*qb + t*qt + h*qh + d; y likewise      k[j,s,g,d] at k0 + j*kj + s*ks + g*kg + d; v likewise
 *   keys    of block i are i*BK .. i*BK + BK - 1, counted from key 0 of the sequence; a query walks the blocks that it
 *           sees in order, so what it gives depends neither on T nor on the batch: prefill and decode give the same bytes
 *   sees    s < len[b], causal: s <= past[b] + t, WINDOW > 0: past[b] + t - s < WINDOW; a query that sees nothing gives 0
 *   needs   nothing beyond OpenCL C 1.1
 *   build   K_DTYPE, V_DTYPE; HEAD, VALUE sizes of a key and a value; W 1|4|8 products summed side by side, divides HEAD;
 *           CAUSAL, WINDOW; HAS_PAST, HAS_LEN, HAS_SLOT, HAS_SOURCE, HAS_BIAS, HAS_LSE
 *   tune    BK 1..32 keys a block: one rescaling of the sums a block
 *   source  Milakov, Gimelshein 2018, arXiv:1805.02867 */
#ifndef BK
#define BK 8
#endif

/* an array for the sums: vectors make Oclgrind's check for uninitialised values crash */
#define VECTOR float
#define LANES 1
#define LOAD_VECTOR(dtype, p, i) LOAD(dtype, p, i)
#define STORE_VECTOR(p, i, v) ((p)[i] = (v))
#define DOT(dot, query, key)                                                        \
    {                                                                               \
        float sums[W];                                                              \
        for (int j = 0; j < W; j++)                                                 \
            sums[j] = 0.0f;                                                         \
        for (int d = 0; d < HEAD; d += W)                                           \
            for (int j = 0; j < W; j++)                                             \
                sums[j] = fma(query[d + j], LOAD(K_DTYPE, key, d + j), sums[j]);    \
        for (int half_width = W / 2; half_width > 0; half_width /= 2)               \
            for (int j = 0; j < half_width; j++)                                    \
                sums[j] += sums[j + half_width];                                    \
        dot = sums[0];                                                              \
    }

#include "attention/body.clh"

#undef VECTOR
#undef LANES
#undef LOAD_VECTOR
#undef STORE_VECTOR
#undef DOT
