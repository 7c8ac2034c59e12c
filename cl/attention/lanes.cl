/* attention/lanes.cl - attention/plain with queries, sums and values in vectors of W, for CPUs.
 *
 *   grid    (T, H, B), one work-item each: one query of one head; g = h / (H/G)
 *   q[b,t,h,d] at q0 + b*qb + t*qt + h*qh + d; y likewise      k[j,s,g,d] at k0 + j*kj + s*ks + g*kg + d; v likewise
 *   keys    of block i are i*BK .. i*BK + BK - 1, counted from key 0 of the sequence; a query walks the blocks that it
 *           sees in order, so what it gives depends neither on T nor on the batch: prefill and decode give the same bytes
 *   sees    s < len[b], causal: s <= past[b] + t, WINDOW > 0: past[b] + t - s < WINDOW; a query that sees nothing gives 0
 *   needs   compilers that keep float8 in registers
 *   paid    12 heads of 64, 512 keys, pocl on 2 cores: 43 ms for 256 queries against 65 for plain, keys in f16 49 against 114
 *   build   K_DTYPE, V_DTYPE; HEAD, VALUE sizes of a key and a value; W 1|4|8 elements a vector, divides both;
 *           CAUSAL, WINDOW; HAS_PAST, HAS_LEN, HAS_SLOT, HAS_SOURCE, HAS_BIAS, HAS_LSE
 *   tune    BK 1..32 keys a block: one rescaling of the sums a block
 *   source  Milakov, Gimelshein 2018, arXiv:1805.02867 */
#ifndef BK
#define BK 8
#endif

#if W == 8
#define VECTOR float8
#define LOAD_VECTOR(dtype, p, i) LOAD8(dtype, p, i)
#define STORE_VECTOR(p, i, v) vstore8(v, 0, (p) + (i))
#define SUM(v) \
    ((((v).s0 + (v).s4) + ((v).s2 + (v).s6)) + (((v).s1 + (v).s5) + ((v).s3 + (v).s7)))
#elif W == 4
#define VECTOR float4
#define LOAD_VECTOR(dtype, p, i) \
    (float4)(LOAD(dtype, p, i), LOAD(dtype, p, (i) + 1), LOAD(dtype, p, (i) + 2), LOAD(dtype, p, (i) + 3))
#define STORE_VECTOR(p, i, v) vstore4(v, 0, (p) + (i))
#define SUM(v) (((v).x + (v).z) + ((v).y + (v).w))
#else
#define VECTOR float
#define LOAD_VECTOR(dtype, p, i) LOAD(dtype, p, i)
#define STORE_VECTOR(p, i, v) ((p)[i] = (v))
#define SUM(v) (v)
#endif

#define LANES W
#define DOT(dot, query, key)                                             \
    {                                                                    \
        VECTOR sums = 0.0f;                                              \
        for (int d = 0; d < HEAD / W; d++)                               \
            sums = fma(query[d], LOAD_VECTOR(K_DTYPE, key, d * W), sums); \
        dot = SUM(sums);                                                 \
    }

#include "attention/body.clh"

#undef VECTOR
#undef LANES
#undef LOAD_VECTOR
#undef STORE_VECTOR
#undef SUM
#undef DOT
