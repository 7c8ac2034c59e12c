/* attention/bf16.cl - attention with products of bf16 for many queries, on CPUs with AVX512-BF16.
 *
 *   grid    (T/QUERIES, H, B), work-groups of one work-item: QUERIES queries of one head, the last tile
 *           first. 16, 32 or 64 of them are in lanes, as few as serve the queries that there are
 *   operands, build as attention/plain, without HAS_LSE
 *   adds    over attention/flash: two products an instruction; keys and values are pairs of bf16 in the first
 *           cache; an exponential of half the instructions
 *   steps   for a tile of 32 keys: scores, as f32; the largest; weights, as pairs of two keys; sums
 *   masked  as attention/flash
 *   order   score, weight and sums as bf16.clh says, tiles and chunks as order.clh: the same bytes in any
 *           number of queries, and those of attention/bf16_decode, but not those of plain
 *   needs   as weighted/bf16.clh
 *   tune    QUERIES 16|32|64
 *   paid    ms of a layer, 12 heads, in one run on 2 shared Zen 4 cores, pocl 3.1 (--profile of embed and generate):
 *
 *                                        this, QUERIES 64    32      16      flash
 *           4 x 256 tokens, D 32         3.3                 3.8     3.8     6.2
 *           900 tokens, causal, D 64     2.9                                 5.2
 *   source  Dao et al. 2022, arXiv:2205.14135 */
#ifndef QUERIES
#define QUERIES 64
#endif
#include "attention/order.clh"
#include "attention/vectors.clh"
#include "attention/bf16.clh"
#if HAS_SOFT_CAP
#include "elementwise/math16.clh"
#endif
#include "attention/bf16_tile.clh"
#define AHEAD_OF 0
#define LANES (QUERIES / 16)

#define MERGE_CHUNK(i)                                                                              \
    {                                                                                               \
        float16 keep, add;                                                                          \
        MERGE_TOTALS(float16, tsr_exp2_down_float16, all_largest[i], all_total[i], largest[i], total[i], keep, add) \
        for (int d = 0; d < VALUE; d++)                                                             \
            all_sum[d * many + i] = MERGED(all_sum[d * many + i], keep, sum[d * many + i], add);    \
    }

#if HAS_RELATIVE
#include "attention/relative16.clh"
#endif

ENTRY_OF_ONE KERNEL(PLACE
#include "attention/operands.clh"
)
{
    const int queries = AT(T), tiles = (queries + QUERIES - 1) / QUERIES;
    const int tile = tiles - 1 - ITEM(0), h = ITEM(1), b = ITEM(2);
    if (tile < 0 || h >= H || b >= AT(B))
        return;
    const int g = h / group, keys = AT(S), t0 = tile * QUERIES, here_many = min(QUERIES, queries - t0);
    const int many = here_many <= 16 ? 1 : here_many <= 32 ? 2 : 4; /* vectors of queries: a power of 2 up to LANES */

#include "attention/lanes_visible.clh"
#include "attention/place.clh"
    q += q0 + b * AT(qb) + h * AT(qh) + t0 * AT(qt);
    y += y0 + b * AT(yb) + h * AT(yh) + t0 * AT(yt);
    const int q_step = AT(qt), y_step = AT(yt);
    const float to_powers = STRETCH, one = 1.0f;

    uint query[DEEP / 2 * QUERIES] __attribute__((aligned(64)));
    uint keys_in[BLOCK * DEEP / 2] __attribute__((aligned(64))), values[BLOCK / 2 * WIDE] __attribute__((aligned(64)));
    uint weights[BLOCK / 2 * QUERIES] __attribute__((aligned(64)));
    float16 score[BLOCK * LANES], sum[WIDE * LANES], all_sum[WIDE * LANES];
    float rows[BLOCK * DEEPEST] __attribute__((aligned(64)));
    float16 largest[LANES], total[LANES], shrink[LANES];
    float16 all_largest[LANES], all_total[LANES]; /* of the chunks before, as all_sum */

#pragma unroll 1
    for (int i = 0; i < many; i++) {
        const int count = clamp(here_many - i * 16, 0, 16);
#pragma unroll 1
        for (int d = 0; d < DEEP; d += 32) {
            uint16 square[16];
#pragma unroll 1
            for (int j = 0; j < 16; j++)
                square[j] = 0;
            if (d + 32 <= HEAD && count)
                tsr_pairs_along((ulong)(q + i * 16 * q_step + d), (ulong)q_step * 4, (ulong)count, (ulong)square, 64, 0);
            else
#pragma unroll 1
                for (int j = 0; j < count; j++)
#pragma unroll 1
                    for (int e = d; e < HEAD; e++)
                        ((ushort *)(square + j))[e - d] = tsr_bf16(q[(i * 16 + j) * q_step + e]);
            tsr_turn_pairs(square, (ulong)(query + (d / 2 * many + i) * 16), (ulong)many * 64);
        }
        largest[i] = all_largest[i] = -INFINITY;
        total[i] = all_total[i] = 0.0f;
    }
    const bool several = SEVERAL_CHUNKS(first, end);
#pragma unroll 1
    for (int d = 0; d < WIDE * many; d++)
        sum[d] = 0.0f;
#pragma unroll 1
    for (int d = 0; several && d < WIDE * many; d++)
        all_sum[d] = 0.0f;
#pragma unroll 1
    for (int i = 0; i < BLOCK * DEEP / 2; i++)
        keys_in[i] = 0;

    for (int block = first / BLOCK * BLOCK; block < end; block += BLOCK) {
        if (NEXT_CHUNK(block, first)) {
#pragma unroll 1
            for (int i = 0; i < many; i++) {
                MERGE_CHUNK(i)
                largest[i] = -INFINITY;
                total[i] = 0.0f;
            }
#pragma unroll 1
            for (int d = 0; d < WIDE * many; d++)
                sum[d] = 0.0f;
        }
        const int n = min(BLOCK, end - block), pairs = (n + 1) / 2;
        {
            ROWS_OF(K_DTYPE, HEAD, DEEP, k, k_slot, k_step, at, pitch, ahead)
#pragma unroll 1
            for (int d = 0; d < DEEP; d += 32)
                tsr_pairs_along(at + d * 4, pitch, (ulong)n, (ulong)(keys_in + d / 2), DEEP * 2, ahead);
        }
#pragma unroll 1
        for (int j = 0; j < n; j += many == 4 ? 4 : 8) {
            const ulong to = (ulong)(score + j * many), from_key = (ulong)(keys_in + j * DEEP / 2);
            if (many == 4)
                tsr_attn_begin4((ulong)query, to, DEEP / 2, from_key, DEEP * 2, 4, 0);
            else if (many == 2)
                tsr_attn_begin2((ulong)query, to, DEEP / 2, from_key, DEEP * 2, 4, 0);
            else
                tsr_attn_begin1((ulong)query, to, DEEP / 2, from_key, DEEP * 2, 4, 0);
        }
#if HAS_BIAS || HAS_RELATIVE || HAS_SOFT_CAP
        const bool plain = false;
#else
        const bool plain = block >= all_first && block + BLOCK <= all_end;
#endif
#pragma unroll 1
        for (int i = 0; i < many; i++) {
            float16 top = largest[i];
            if (plain)
#pragma unroll 8
                for (int j = 0; j < BLOCK; j++) {
                    const float16 dot = score[j * many + i] * to_powers;
                    top = dot > top ? dot : top;
                }
            else
#pragma unroll 1
                for (int j = 0; j < pairs * 2; j++) {
                    float16 dot = CAPPED(float16, score[j * many + i] * to_powers);
#if HAS_BIAS
                    const int s = min(block + j, end - 1) * BIAS_STEP(3), place = bias0 + b * BIAS_STEP(0) + h * BIAS_STEP(1) + s;
                    float16 addend;
#pragma unroll 1
                    for (int l = 0; l < 16; l++)
                        ((float *)&addend)[l] = bias[place + (t0 + min(i * 16 + l, here_many - 1)) * BIAS_STEP(2)];
                    dot = fma(addend, LOG2_E, dot);
#endif
#if HAS_RELATIVE
                    dot = fma(LOCAL_NAME(relative16)(relative + relative0 + h * (2 * reach + 1), reach,
                                                     block + j - before - t0 - i * 16), LOG2_E, dot);
#endif
                    const int16 s16 = block + j;
                    dot = s16 >= from[i] && s16 <= last[i] ? dot : (float16)(-INFINITY);
                    score[j * many + i] = dot;
                    top = dot > top ? dot : top;
                }
            const float16 base = top == -INFINITY ? 0.0f : top;
            shrink[i] = tsr_exp2_down_float16(largest[i] - base);
            total[i] *= shrink[i];
            largest[i] = base;
            tsr_attn_weights((ulong)(score + i), (ulong)many * 64, (ulong)pairs, (ulong)(weights + i * 16), (ulong)(largest + i),
                             (ulong)(total + i), (ulong)(plain ? &to_powers : &one));
            largest[i] = top;
        }
        PACK_VALUES
#pragma unroll 1
        for (int d = 0; d < VALUE; d += many == 4 ? 4 : 8) {
            const ulong to = (ulong)(sum + d * many), by = (ulong)shrink;
            if (many == 4)
                tsr_attn_more4((ulong)weights, to, (ulong)pairs, (ulong)(values + d), 4, WIDE * 4, by);
            else if (many == 2)
                tsr_attn_more2((ulong)weights, to, (ulong)pairs, (ulong)(values + d), 4, WIDE * 4, by);
            else
                tsr_attn_more1((ulong)weights, to, (ulong)pairs, (ulong)(values + d), 4, WIDE * 4, by);
        }
    }

#pragma unroll 1
    for (int i = 0; i < many; i++) {
        if (several) {
            MERGE_CHUNK(i)
            largest[i] = all_largest[i];
            total[i] = all_total[i];
#pragma unroll 1
            for (int d = 0; d < VALUE; d++)
                sum[d * many + i] = all_sum[d * many + i];
        }
        float16 share;
        SHARE_OF_TOTAL(float16, tsr_exp2_down_float16, h, largest[i], total[i], share)
#pragma unroll 1
        for (int d = 0; d < VALUE; d += 16) {
            float16 r[16];
#pragma unroll
            for (int j = 0; j < 16; j++)
                r[j] = sum[(d + j) * many + i] * share;
            tsr_turn16(r);
#pragma unroll 1
            for (int j = 0; j < 16 && i * 16 + j < here_many; j++)
                if (d + 16 <= VALUE)
                    *(__global tsr_loose_float16 *)(y + (i * 16 + j) * y_step + d) = r[j];
                else
#pragma unroll 1
                    for (int e = d; e < VALUE; e++)
                        y[(i * 16 + j) * y_step + e] = ((float *)(r + j))[e - d];
        }
    }
}

#undef HOME
#undef MERGE_CHUNK
#undef LANES
#undef QUERIES
#include "attention/forget_bf16.clh"
