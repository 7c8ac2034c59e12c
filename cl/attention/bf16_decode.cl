/* attention/bf16_decode.cl - attention with products of bf16 for few queries, on CPUs with AVX512-BF16.
 *
 *   grid    (T, H/HEADS, B), work-groups of one work-item, as attention/decode
 *   operands, build as attention/decode, without HAS_LSE
 *   adds    over attention/decode: two products an instruction, and half the transposition. Over
 *           attention/bf16: keys in lanes for the scores, elements of a value in lanes for the sums, so a
 *           single query wastes no lane
 *   masked  as attention/decode; a tile's invisible keys are read
 *   order   as attention/bf16: the same bytes
 *   needs   as weighted/bf16.clh
 *   tune    AHEAD whether the next tile of 32 keys and values is prefetched
 *   paid    a token after 900 others, 12 heads of 64, ms in two runs on 2 shared Zen 4 cores, pocl 3.1, this
 *           and decode: keys of f32 0.40 and 0.34, 0.37 and 0.36; of f16 0.20 and 0.15, 0.19 and 0.22. So it
 *           is not faster, but gives the bytes of bf16. Prefetching a whole tile at once, which stops
 *           a core until memory has answered: 0.36 where decode took 0.21 */
#ifndef AHEAD
#define AHEAD 1
#endif
#include "attention/order.clh"
#include "attention/vectors.clh"
#include "attention/bf16.clh"
#if HAS_SOFT_CAP
#include "elementwise/math16.clh"
#endif
#include "attention/bf16_tile.clh"
#define AHEAD_OF (AHEAD && block + BLOCK < end)

#define DOWN(x) tsr_exp2_down_float16((float16)(x)).s0
#define MERGE_CHUNK(i)                                                                              \
    {                                                                                               \
        float keep, add;                                                                            \
        MERGE_TOTALS(float, DOWN, all_largest[i], all_total[i], largest[i], total[i], keep, add)    \
        for (int d = 0; d < WIDE / 16; d++)                                                         \
            all_sum[i][d] = MERGED(all_sum[i][d], keep, sum[i][d], (float16)(add));                 \
    }
#define FETCH_TILE(begin)                                                              \
    for (int s = begin; s < min((begin) + BLOCK, end); s++) {                          \
        FETCH(K_DTYPE, HEAD, k + HOME(s) * k_slot + s * k_step)                        \
        FETCH(V_DTYPE, VALUE, v + HOME(s) * v_slot + s * v_step)                       \
    }

ENTRY_OF_ONE KERNEL(PLACE
#include "attention/operands.clh"
)
{
#include "attention/one_query.clh"

    uint query[HEADS][DEEP / 2] __attribute__((aligned(64))), weights[HEADS][BLOCK / 2] __attribute__((aligned(64)));
    uint keys_in[DEEP / 2 * BLOCK] __attribute__((aligned(64))), values[BLOCK / 2 * WIDE] __attribute__((aligned(64)));
    float16 sum[HEADS][WIDE / 16], all_sum[HEADS][WIDE / 16]; /* of a chunk, and of those before it */
    float rows[BLOCK * DEEPEST] __attribute__((aligned(64)));
    float largest[HEADS], total[HEADS], all_largest[HEADS], all_total[HEADS];
#pragma unroll 1
    for (int i = 0; i < HEADS; i++) {
#pragma unroll 1
        for (int d = 0; d < DEEP; d++)
            ((ushort *)query[i])[d] = d < HEAD ? tsr_bf16(q[i * q_head + d]) : 0;
        largest[i] = all_largest[i] = -INFINITY;
        total[i] = all_total[i] = 0.0f;
#pragma unroll 1
        for (int d = 0; d < WIDE / 16; d++)
            sum[i][d] = all_sum[i][d] = 0.0f;
    }
    const bool several = SEVERAL_CHUNKS(first, end);
    if (AHEAD)
        FETCH_TILE(first / BLOCK * BLOCK)
    for (int block = first / BLOCK * BLOCK; block < end; block += BLOCK) {
#pragma unroll 1
        for (int i = 0; NEXT_CHUNK(block, first) && i < HEADS; i++) {
            MERGE_CHUNK(i)
            largest[i] = -INFINITY;
            total[i] = 0.0f;
#pragma unroll 1
            for (int d = 0; d < WIDE / 16; d++)
                sum[i][d] = 0.0f;
        }
        const int n = min(BLOCK, end - block), pairs = (n + 1) / 2;
        {
            ROWS_OF(K_DTYPE, HEAD, DEEP, k, k_slot, k_step, at, pitch, ahead)
#pragma unroll 1
            for (int part = 0; part < BLOCK; part += 16) {
                const int count = clamp(n - part, 0, 16);
#pragma unroll 1
                for (int d = 0; d < DEEP; d += 32) {
                    uint16 square[16];
#pragma unroll 1
                    for (int j = count; j < 16; j++)
                        square[j] = 0;
                    if (count)
                        tsr_pairs_along(at + part * pitch + d * 4, pitch, (ulong)count, (ulong)square, 64, ahead);
                    tsr_turn_pairs(square, (ulong)(keys_in + d / 2 * BLOCK + part), BLOCK * 4);
                }
            }
        }
        PACK_VALUES
#pragma unroll 1
        for (int i = 0; i < HEADS; i++) {
            float16 score[2], weight[2], base, shrink;
            tsr_attn_begin_one2((ulong)keys_in, (ulong)score, DEEP / 2, (ulong)query[i], BLOCK * 4, 0);
#pragma unroll 1
            for (int part = 0; part < 2; part++) {
                float16 dot = CAPPED(float16, score[part] * to_powers);
#if HAS_BIAS || HAS_RELATIVE
                float addend[16] __attribute__((aligned(64)));
#endif
#if HAS_BIAS
#pragma unroll 1
                for (int j = 0; j < 16; j++)
                    addend[j] = bias[bias0 + b * BIAS_STEP(0) + (h0 + i) * BIAS_STEP(1) + t * BIAS_STEP(2) +
                                     min(block + part * 16 + j, end - 1) * BIAS_STEP(3)];
                dot = fma(*(float16 *)addend, LOG2_E, dot);
#endif
#if HAS_RELATIVE
#pragma unroll 1
                for (int j = 0; j < 16; j++)
                    addend[j] = RELATIVE(h0 + i, block + part * 16 + j - here);
                dot = fma(*(float16 *)addend, LOG2_E, dot);
#endif
                const int16 s = lane + (block + part * 16);
                score[part] = s >= first && s < end ? dot : (float16)(-INFINITY);
            }
            const float16 both = score[0] > score[1] ? score[0] : score[1];
            const float8 eight = both.lo > both.hi ? both.lo : both.hi;
            const float4 four = eight.lo > eight.hi ? eight.lo : eight.hi;
            const float top = fmax(fmax(fmax(four.x, four.y), fmax(four.z, four.w)), largest[i]);
            base = top == -INFINITY ? 0.0f : top;
            shrink = tsr_exp2_down_float16(largest[i] - base);
            largest[i] = top;
            tsr_attn_weights_one((ulong)score, (ulong)weight, (ulong)weights[i], (ulong)&base);
            total[i] *= shrink.s0;
#pragma unroll
            for (int j = 0; j < BLOCK; j++)
                total[i] = ORDERED_ADD(((float *)weight)[j], total[i]);
            int d = 0;
#pragma unroll 1
            for (; d + 64 <= WIDE; d += 64)
                tsr_attn_more_one4((ulong)(values + d), (ulong)(sum[i] + d / 16), (ulong)pairs, (ulong)weights[i], WIDE * 4, (ulong)&shrink);
            if (d + 32 <= WIDE) {
                tsr_attn_more_one2((ulong)(values + d), (ulong)(sum[i] + d / 16), (ulong)pairs, (ulong)weights[i], WIDE * 4, (ulong)&shrink);
                d += 32;
            }
            if (d < WIDE)
                tsr_attn_more_one1((ulong)(values + d), (ulong)(sum[i] + d / 16), (ulong)pairs, (ulong)weights[i], WIDE * 4, (ulong)&shrink);
        }
    }

#pragma unroll 1
    for (int i = 0; i < HEADS; i++) {
        if (several) {
            MERGE_CHUNK(i)
            largest[i] = all_largest[i];
            total[i] = all_total[i];
#pragma unroll 1
            for (int d = 0; d < WIDE / 16; d++)
                sum[i][d] = all_sum[i][d];
        }
        float share;
        SHARE_OF_TOTAL(float, DOWN, h0 + i, largest[i], total[i], share)
        int d = 0;
#pragma unroll 1
        for (; d + 16 <= VALUE; d += 16)
            *(__global tsr_loose_float16 *)(y + i * y_head + d) = sum[i][d / 16] * share;
#pragma unroll 1
        for (; d < VALUE; d++)
            y[i * y_head + d] = ((float *)sum[i])[d] * share;
    }
}

#undef HOME
#undef DOWN
#undef MERGE_CHUNK
#undef FETCH_TILE
#undef AHEAD
#include "attention/forget_bf16.clh"
