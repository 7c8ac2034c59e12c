/* attention/plain.cl - y = softmax(scale <q, k> + bias + relative over the visible keys) v, without
 * a T x S buffer.
 *
 *            S keys, in tiles of 32            the queries that are owned, with all their keys, by
 *            +----+----+----+----+
 *            |    |    |    |    |             plain   a work-item: 1 query of 1 head
 *   T        |    |    |    |    |             flash   a work-item: 32 queries of 1 head
 *   queries  | 1. | 2. | 3. | .. |             decode  a work-item: 1 query of up to 4 heads that
 *   of one   |    |    |    |    |                     share a key head
 *   head     +----+----+----+----+             tiled   a work-group: up to 16 rows, each a query
 *            tiles are taken in order                  of one of the heads of a key head
 *                                              split   a work-group: these rows, but 256 keys;
 *                                                      then a work-item each element
 *                                              units   a work-group: up to 64 rows, by the device's
 *                                                      matrix unit
 *                                              bf16    as flash, 16 to 64 queries; bf16_decode as
 *                                                      decode: by vdpbf16ps
 *
 * The owner keeps for each query the largest score so far, the sum of the exponentials and the sum
 * of the values that they weigh; after 256 keys it merges these and begins anew (order.clh).
 *
 * The ladder: 12 heads, f32. Prefill in GFLOP/s of visible pairs, T 512 and D 64; decode in ms, 512
 * keys of 64 from memory; pocl on 2 AVX-512 cores, one run (a packed GEMM reaches 214-224 there).
 *
 *   variant   adds over the one before it                              prefill   causal   decode
 *   plain     running maximum and sum: no T x S buffer                 -         -        0.38
 *   flash     CPUs: 32 queries in float16 lanes, keys copied once      168       149      0.46
 *   decode    CPUs: keys in lanes, each read once for several heads    -         -        0.19
 *   tiled     GPUs: keys, values, scores in local memory; not measured -         -        -
 *   split     GPUs: tiled, with keys split over work-groups            -         -        -
 *
 * decode takes 0.12 ms since it prefetches. Failed: `lanes`, plain with vector loads along d; STEP
 * 4 in flash, which gave other bytes on one driver. What else decode tried is at its head.
 *
 *   grid    (T, H, B), one work-item each: one query of one head; g = h / (H/G)
 *   q       q[b,t,h,d] at q0 + b*qb + t*qt + h*qh + d; y likewise
 *   k       k[j,s,g,d] at k0 + j*kj + s*ks + g*kg + d; v likewise
 *   visible s < len[b]; causal: s <= past[b] + t; WINDOW > 0: |past[b] + t - s| < WINDOW. A query
 *           that sees no key gives 0
 *   order   as order.clh says
 *   needs   nothing beyond OpenCL C 1.1
 *   build   K_DTYPE, V_DTYPE; HEAD, VALUE sizes of a key and a value; CAUSAL, WINDOW; HAS_PAST,
 *           HAS_LEN, HAS_SLOT, HAS_SOURCE, HAS_PAGES with PAGE, HAS_BIAS, HAS_RELATIVE, HAS_SINKS, HAS_SOFT_CAP, HAS_LSE
 *   paid    the first line of the ladder
 *   source  Milakov, Gimelshein 2018, arXiv:1805.02867 */
#include "attention/order.clh"

float LOCAL_NAME(exp2)(float x)
{
    TSR_EXP2_DOWN(float, int, x)
    return x;
}

#define MERGE_CHUNK                                                                                   \
    MERGE_TOTALS(float, LOCAL_NAME(exp2), all_largest, all_total, largest, total, keep, add)          \
    for (int d = 0; d < VALUE; d++)                                                                   \
        y[d] = MERGED(y[d], keep, sum[d], add);

ENTRY KERNEL(PLACE
#include "attention/operands.clh"
)
{
    const int t = ITEM(0), h = ITEM(1), b = ITEM(2);
    if (t >= AT(T) || h >= H || b >= AT(B))
        return;
    const int g = h / group, keys = AT(S);

    int first = 0, end = keys;
#if CAUSAL || WINDOW > 0 || HAS_RELATIVE
#if HAS_PAST
    const int here = past[past0 + b] + t;
#else
    const int here = t;
#endif
#endif
#include "attention/visible.clh"

#include "attention/place.clh"

    float query[HEAD], sum[VALUE];
    q += q0 + b * AT(qb) + t * AT(qt) + h * AT(qh);
    for (int d = 0; d < HEAD; d++)
        query[d] = q[d];
    y += y0 + b * AT(yb) + t * AT(yt) + h * AT(yh);
    for (int d = 0; d < VALUE; d++)
        sum[d] = 0.0f;
    float largest = -INFINITY, total = 0.0f;                     /* of a chunk */
    float all_largest = -INFINITY, all_total = 0.0f, keep, add; /* of those before it, whose sums lie in y */
    const bool several = SEVERAL_CHUNKS(first, end);
    for (int d = 0; several && d < VALUE; d++)
        y[d] = 0.0f;

    for (int block = first / BLOCK * BLOCK; block < end; block += BLOCK) {
        if (NEXT_CHUNK(block, first)) {
            MERGE_CHUNK
            largest = -INFINITY;
            total = 0.0f;
            for (int d = 0; d < VALUE; d++)
                sum[d] = 0.0f;
        }
        float score[BLOCK];
        float top = largest;
        for (int i = 0; i < BLOCK; i++) {
            const int s = block + i;
            score[i] = -INFINITY;
            if (s >= first && s < end) {
                __global const ELEMENT(K_DTYPE) *key = k + HOME(s) * k_slot + s * k_step;
                float dot = 0.0f;
                for (int d = 0; d < HEAD; d++)
                    dot = fma(LOAD(K_DTYPE, key, d), query[d], dot);
                score[i] = CAPPED(float, dot * STRETCH);
#if HAS_BIAS
                score[i] = fma(bias[bias0 + b * BIAS_STEP(0) + h * BIAS_STEP(1) + t * BIAS_STEP(2) + s * BIAS_STEP(3)], LOG2_E, score[i]);
#endif
#if HAS_RELATIVE
                score[i] = fma(RELATIVE(h, s - here), LOG2_E, score[i]);
#endif
                top = fmax(top, score[i]);
            }
        }
        const float base = top == -INFINITY ? 0.0f : top; /* a bias of -inf masks a key too */
        const float shrink = LOCAL_NAME(exp2)(largest - base);
        largest = top;
        total *= shrink;
        for (int d = 0; d < VALUE; d++)
            sum[d] *= shrink;
        for (int i = 0; i < BLOCK; i++) {
            const int s = block + i;
            if (score[i] != -INFINITY) {
                __global const ELEMENT(V_DTYPE) *value = v + HOME(s) * v_slot + s * v_step;
                const float p = LOCAL_NAME(exp2)(score[i] - base);
                total = ORDERED_ADD(p, total);
                for (int d = 0; d < VALUE; d++)
                    sum[d] = fma(LOAD(V_DTYPE, value, d), p, sum[d]);
            }
        }
    }

    if (several) {
        MERGE_CHUNK
        largest = all_largest;
        total = all_total;
        for (int d = 0; d < VALUE; d++)
            sum[d] = y[d];
    }
    float share;
    SHARE_OF_TOTAL(float, LOCAL_NAME(exp2), h, largest, total, share)
    for (int d = 0; d < VALUE; d++)
        y[d] = sum[d] * share;
#if HAS_LSE
    lse[lse0 + (b * H + h) * AT(T) + t] = LOG_OF_SUM(largest, total);
#endif
}

#undef MERGE_CHUNK
#undef HOME
#undef BLOCK
