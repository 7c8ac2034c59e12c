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

__kernel void KERNEL(__global const float *q, int q0, __global const ELEMENT(K_DTYPE) *k, int k0,
                     __global const ELEMENT(V_DTYPE) *v, int v0, __global const int *past, int past0,
                     __global const int *len, int len0, __global const int *slot, int slot0,
                     __global const int *source, int source0, __global const float *bias, int bias0, __global float *y,
                     int y0, __global float *lse, int lse0, __global const int *dims, int B, int B_set, int T, int T_set,
                     int S, int S_set, int H, int group, int qb, int qb_set, int qt, int qt_set, int qh, int qh_set,
                     int kj, int kj_set, int ks, int ks_set, int kg, int kg_set, int vj, int vj_set, int vs, int vs_set,
                     int vg, int vg_set, int yb, int yb_set, int yt, int yt_set, int yh, int yh_set,
#if HAS_BIAS
                     int bb, int bb_set, int bh, int bh_set, int bt, int bt_set, int bs, int bs_set,
#endif
                     float scale)
{
    const int t = (int)get_global_id(0), h = (int)get_global_id(1), b = (int)get_global_id(2);
    if (t >= SIZE(T) || h >= H || b >= SIZE(B))
        return;
    const int g = h / group, keys = SIZE(S);

    int first = 0, end = keys;
#if HAS_LEN
    end = min(end, len[len0 + b]);
#endif
#if CAUSAL || WINDOW > 0
#if HAS_PAST
    const int here = past[past0 + b] + t;
#else
    const int here = t;
#endif
#endif
#if CAUSAL
    end = min(end, here + 1);
#endif
#if WINDOW > 0
    first = max(0, here - WINDOW + 1);
#endif

    int kb = b, vb = b;
#if HAS_SLOT
    kb = vb = slot[slot0 + b];
#endif
    const int k_step = SIZE(ks), v_step = SIZE(vs), k_slot = SIZE(kj), v_slot = SIZE(vj);
    k += k0 + g * SIZE(kg);
    v += v0 + g * SIZE(vg);
#if !HAS_SOURCE
    k += kb * k_slot;
    v += vb * v_slot;
#endif

    VECTOR query[HEAD / W], sum[VALUE / W];
    q += q0 + b * SIZE(qb) + t * SIZE(qt) + h * SIZE(qh);
    for (int d = 0; d < HEAD / W; d++)
        query[d] = LOAD_VECTOR(TSR_DTYPE_F32, q, d * W);
    for (int d = 0; d < VALUE / W; d++)
        sum[d] = 0.0f;
    float largest = -INFINITY, total = 0.0f;

    for (int block = first / BK * BK; block < end; block += BK) {
        float score[BK];
        float top = largest;
        for (int i = 0; i < BK; i++) {
            const int s = block + i;
            score[i] = -INFINITY;
            if (s >= first && s < end) {
#if HAS_SOURCE
                __global const ELEMENT(K_DTYPE) *key = k + source[source0 + b * keys + s] * k_slot + s * k_step;
#else
                __global const ELEMENT(K_DTYPE) *key = k + s * k_step;
#endif
                VECTOR dot = 0.0f;
                for (int d = 0; d < HEAD / W; d++)
                    dot = fma(query[d], LOAD_VECTOR(K_DTYPE, key, d * W), dot);
                score[i] = scale * SUM(dot);
#if HAS_BIAS
                score[i] += bias[bias0 + b * SIZE(bb) + h * SIZE(bh) + t * SIZE(bt) + s * SIZE(bs)];
#endif
                top = fmax(top, score[i]);
            }
        }
        if (top == -INFINITY) /* a bias of -inf hides a key too */
            continue;
        const float shrink = tsr_exp_float(largest - top);
        largest = top;
        total *= shrink;
        for (int d = 0; d < VALUE / W; d++)
            sum[d] *= shrink;
        for (int i = 0; i < BK; i++) {
            const int s = block + i;
            if (s >= first && s < end) {
#if HAS_SOURCE
                __global const ELEMENT(V_DTYPE) *value = v + source[source0 + b * keys + s] * v_slot + s * v_step;
#else
                __global const ELEMENT(V_DTYPE) *value = v + s * v_step;
#endif
                const float p = tsr_exp_float(score[i] - top);
                total = ORDERED_ADD(p, total);
                for (int d = 0; d < VALUE / W; d++)
                    sum[d] = fma((VECTOR)(p), LOAD_VECTOR(V_DTYPE, value, d * W), sum[d]);
            }
        }
    }

    const float share = total > 0.0f ? 1.0f / total : 0.0f;
    y += y0 + b * SIZE(yb) + t * SIZE(yt) + h * SIZE(yh);
    for (int d = 0; d < VALUE / W; d++)
        STORE_VECTOR(y, d * W, sum[d] * share);
#if HAS_LSE
    lse[lse0 + (b * H + h) * SIZE(T) + t] = total > 0.0f ? largest + log(total) : -INFINITY;
#endif
}

#undef VECTOR
#undef LOAD_VECTOR
#undef STORE_VECTOR
#undef SUM
#undef BK
#undef W
#undef HEAD
#undef VALUE
#undef K_DTYPE
#undef V_DTYPE
#undef CAUSAL
#undef WINDOW
#undef HAS_PAST
#undef HAS_LEN
#undef HAS_SLOT
#undef HAS_SOURCE
#undef HAS_BIAS
#undef HAS_LSE
