/* attention_grad/plain.cl - dq, dk and dv of attention/plain, without a T x S buffer: probabilities
 * are formed anew from lse.
 *
 *     p = exp(scale <q, k> + bias + relative - lse)    dv = sum_t p dy
 *     ds = p (<dy, v> - <dy, y>)    dq = scale sum_s ds k    dk = scale sum_t ds q; with a soft cap,
 *     scale times 1 - tanh^2 of each pair
 *     drelative[h, distance] = sum of its ds
 *
 *              S keys              a pair (query, key) adds to dq of its row, and to dk and dv of
 *            +---+---+---+---+     its column. The sums are owned by
 *            |   | k |   |   |
 *   T        | q | x | q | q |     plain   a work-item: a row of a head (plain_queries), then
 *   queries  |   | k |   |   |             a column of a key head
 *            |   | k |   |   |     tiled   a work-group of 64: 16 rows of a head
 *            +---+---+---+---+             (tiled_queries), then KEYS columns of a key head
 *                                  flash   a work-item: all rows and columns of a key head
 *
 * The ladder, with GFLOP/s of visible pairs at 7 products a pair, causal, f32, B x T x H x D of 16
 * x 256 x 6 x 64; pocl, 2 Zen 4 cores, 236 in registers.
 *
 *   variant  adds over the one before it                                     GFLOP/s
 *   plain    pairs are formed twice, without a buffer: seven products        -
 *   tiled    GPUs: the pairs of a tile in local memory; no GPU was measured  -
 *   flash    CPUs: pairs are formed once: five products; lanes               145.5
 *
 *   grid    (max(S, 2R+1), max(G, H), B), one work-item each: one key of one key head; with
 *           HAS_DRELATIVE also one distance of one query head, for all sequences (b = 0)
 *   q       q[b,t,h,d] at q0 + b*qb + t*qt + h*qh + d; y and dy likewise
 *   k       k[b,s,g,d] at k0 + b*kj + s*ks + g*kg + d; v likewise
 *   reads   scratch, from attention_grad/plain_queries, which gives dq
 *   order, visible: pair.clh; drelative by ascending sequence, query and key
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HEAD, VALUE sizes of a key and a value; CAUSAL, WINDOW; HAS_PAST, HAS_LEN, HAS_BIAS,
 *           HAS_RELATIVE, HAS_SOFT_CAP, HAS_DRELATIVE
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain. The figures include the
 *           stage before a variant.
 *
 *                                   pocl             Intel
 *           variant           us   ratio        us   ratio
 *           B=4 T=128 S=128 H=12/12 D=64/64 causal
 *           plain          39778    1.00     39168    1.00
 *           flash          933.1   42.63      1076   36.39
 *           tiled          26284    1.51     31984    1.22
 *
 *           B=1 T=512 S=512 H=12/12 D=64/64 causal
 *           plain         204041    1.00    161980    1.00
 *           flash           2977   68.54      3062   52.90
 *           tiled         110731    1.84    111838    1.45
 *   source  Dao et al. 2022, arXiv:2205.14135, appendix B */
#include "attention/order.clh"
#include "attention_grad/pair.clh"

ENTRY KERNEL(PLACE
#include "attention_grad/operands.clh"
    , __global const float *scratch)
{
    const int s = ITEM(0), g = ITEM(1), b = ITEM(2);
    const int queries = AT(T), keys = AT(S), heads = H / group;
    const int q_step = AT(qt), d_step = SIZE(dt);
    int first, end;
    if (b >= AT(B))
        return;

    if (s < keys && g < heads) {
        const int before = BEFORE(b), length = LENGTH(b);
        __global const float *key = k + k0 + b * AT(kj) + s * AT(ks) + g * AT(kg);
        __global const float *value = v + v0 + b * AT(vj) + s * AT(vs) + g * AT(vg);
        float dkey[HEAD + !HEAD], dvalue[VALUE + !VALUE]; /* at least one: OpenCL C has no empty arrays */
        for (int d = 0; d < HEAD; d++)
            dkey[d] = 0.0f;
        for (int d = 0; d < VALUE; d++)
            dvalue[d] = 0.0f;
        for (int h = g * group; h < (g + 1) * group; h++)
            for (int t = 0; t < queries; t++) {
                const int row = (b * H + h) * queries + t;
                LOCAL_NAME(visible)(t, keys, before, length, &first, &end);
                if (s < first || s >= end)
                    continue;
                __global const float *query = q + q0 + b * AT(qb) + t * q_step + h * AT(qh);
                __global const float *gradient = dy + dy0 + b * SIZE(db) + t * d_step + h * SIZE(dh);
                float slope;
                const float p = LOCAL_NAME(share)(query, key, scale, SOFT_CAP, BIAS_OF(b, h, t, s), RELATIVE_OF(h, s - before - t),
                                                  lse[lse0 + row], &slope);
                if (p == 0.0f)
                    continue;
                const float ds = p * (LOCAL_NAME(dot_values)(gradient, value) - scratch[row]) * slope;
                for (int d = 0; d < HEAD; d++)
                    dkey[d] = fma(query[d], ds, dkey[d]);
                for (int d = 0; d < VALUE; d++)
                    dvalue[d] = fma(gradient[d], p, dvalue[d]);
            }
        dk += dk0 + ((b * keys + s) * heads + g) * HEAD;
        dv += dv0 + ((b * keys + s) * heads + g) * VALUE;
        for (int d = 0; d < HEAD; d++)
            dk[d] = dkey[d];
        for (int d = 0; d < VALUE; d++)
            dv[d] = dvalue[d];
    }

#if HAS_DRELATIVE
    if (b == 0 && s < 2 * reach + 1 && g < H) {
        const int distance = s - reach, h = g;
        float sum = 0.0f;
        for (int j = 0; j < AT(B); j++)
            for (int t = 0; t < queries; t++) {
                const int row = (j * H + h) * queries + t, here = BEFORE(j) + t;
                LOCAL_NAME(visible)(t, keys, BEFORE(j), LENGTH(j), &first, &end);
                /* Beyond the reach, all keys of a side count as one distance. */
                first = max(first, distance == -reach ? 0 : here + distance);
                end = min(end, distance == reach ? keys : here + distance + 1);
                __global const float *query = q + q0 + j * AT(qb) + t * q_step + h * AT(qh);
                __global const float *gradient = dy + dy0 + j * SIZE(db) + t * d_step + h * SIZE(dh);
                for (int i = first; i < end; i++) {
                    float slope;
                    const float p = LOCAL_NAME(share)(query, k + k0 + j * AT(kj) + i * AT(ks) + h / group * AT(kg), scale, SOFT_CAP,
                                                      BIAS_OF(j, h, t, i), RELATIVE_OF(h, i - here), lse[lse0 + row], &slope);
                    if (p == 0.0f)
                        continue;
                    sum = ORDERED_ADD(p * (LOCAL_NAME(dot_values)(gradient, v + v0 + j * AT(vj) + i * AT(vs) +
                                                                                h / group * AT(vg)) - scratch[row]), sum);
                }
            }
        drelative[drelative0 + h * (2 * reach + 1) + s] = sum;
    }
#endif
}

#include "attention_grad/forget_pair.clh"
