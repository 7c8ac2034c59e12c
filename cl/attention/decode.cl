/* attention/decode.cl - attention/plain for CPUs and few queries: 16 keys in lanes for the scores,
 * then 16 elements of a value in lanes for the sums.
 *
 *   grid    (T, H/HEADS, B), work-groups of one work-item: a query of HEADS heads that share a key
 *           head
 *   operands, build as attention/plain; HEADS
 *   adds    over attention/plain: each key and value is read once for HEADS heads. 16 keys by 16
 *           elements are transposed in registers, so that scores lie in lanes, each a sum over
 *           ascending d. The values of a tile are then read row by row, with the sums in lanes over
 *           d
 *   masked  masked keys are not read, except that the last visible one stands in for those past it
 *           in a group of 16, whose scores are masked
 *   order   as order.clh says: the bytes of attention/plain
 *   needs   float16 in registers (a CPU)
 *   tune    AHEAD 0..64 keys that are prefetched
 *   paid    12 heads of 64, 512 keys from memory, pocl on 2 cores, ms:
 *
 *                                                           f32              f16
 *           prefetched into the second cache                0.12 (26 GB/s)   0.07
 *           not prefetched, or into the first cache         0.19
 *           with a hint one level weaker                    0.13-0.14
 *           with the hint for data used once                0.17
 *           the key heads of a token adjacent in memory     0.20             0.145
 *
 *           Transposing 16 x 16 through a pointer, which the compiler splits into halves and
 *           spills, took 0.079 in place of 0.056 from the cache. A q4 step, 64 to 164 keys: 0.046,
 *           0.038 since the first keys are prefetched too; prefetching the next head's as well
 *           gained nothing. Prefetching nothing past the last key, and by source too: 256 sequences
 *           of 25 keys, 8 heads 1.69 to 1.37, by source 1.91 to 1.32; AHEAD 8 without that 1.45,
 *           AHEAD 0 1.88 */
#ifndef AHEAD
#define AHEAD 32
#endif
#include "attention/order.clh"
#include "attention/vectors.clh"
#if HAS_SOFT_CAP
#include "elementwise/math16.clh"
#endif
#define PARTS ((VALUE + 15) / 16)
#if VALUE % 64 == 0
#define WIDE 4
#elif VALUE % 32 == 0
#define WIDE 2
#else
#define WIDE 1
#endif
/* A step reads 16 elements of 16 keys. With each step, this many whole keys are prefetched, in the
 * order of memory. */
#define ROWS_A_STEP (HEAD < 16 ? 0 : (15 + HEAD / 16) / (HEAD / 16 + (HEAD < 16)))
#define FETCH(dtype, size, from)                                      \
    _Pragma("unroll") for (int line = 0; line < DISTANCE(dtype, size); line += 64 / (int)sizeof(ELEMENT(dtype))) \
        TSR_PREFETCH_L2((from) + line);

#define DOWN(x) tsr_exp2_down_float16((float16)(x)).s0
#define MERGE_CHUNK(i)                                                                              \
    {                                                                                               \
        float keep, add;                                                                            \
        MERGE_TOTALS(float, DOWN, all_largest[i], all_total[i], largest[i], total[i], keep, add)    \
        for (int d = 0; d < PARTS; d++)                                                             \
            all_sum[i][d] = MERGED(all_sum[i][d], keep, sum[i][d], (float16)(add));                 \
    }

#if HAS_RELATIVE
/* What is added to the scores of 16 adjacent keys, the first at this distance from the query. */
static inline float16 LOCAL_NAME(relative16)(__global const float *relative, int reach, int distance)
{
    float one[16] __attribute__((aligned(64)));
    if (distance >= -reach && distance + 15 <= reach)
        return *(__global const tsr_loose_float16 *)(relative + reach + distance);
    for (int j = 0; j < 16; j++)
        one[j] = relative[reach + clamp(distance + j, -reach, reach)];
    return *(float16 *)one;
}
#endif

ENTRY_OF_ONE KERNEL(PLACE
#include "attention/operands.clh"
)
{
#include "attention/one_query.clh"

    float16 sum[HEADS][PARTS], all_sum[HEADS][PARTS]; /* of a chunk, and of those before it */
    float largest[HEADS], total[HEADS], shrink[HEADS], all_largest[HEADS], all_total[HEADS];
    float share[HEADS][BLOCK] __attribute__((aligned(64)));
    for (int i = 0; i < HEADS; i++) {
        largest[i] = -INFINITY;
        total[i] = 0.0f;
        for (int d = 0; d < PARTS; d++)
            sum[i][d] = 0.0f;
    }
    const bool several = SEVERAL_CHUNKS(first, end);
    for (int i = 0; several && i < HEADS; i++) {
        all_largest[i] = -INFINITY;
        all_total[i] = 0.0f;
        for (int d = 0; d < PARTS; d++)
            all_sum[i][d] = 0.0f;
    }

#if AHEAD > 0
    /* The loops prefetch keys that lie AHEAD of them; the first keys and values are prefetched
     * here. */
    const int asked = min(first + AHEAD, end);
    for (int s = first; s < asked; s++)
        FETCH(K_DTYPE, HEAD, k + HOME(s) * k_slot + s * k_step)
    for (int s = first; s < asked; s++)
        FETCH(V_DTYPE, VALUE, v + HOME(s) * v_slot + s * v_step)
#endif

    for (int block = first / BLOCK * BLOCK; block < end; block += BLOCK) {
        for (int i = 0; NEXT_CHUNK(block, first) && i < HEADS; i++) {
            MERGE_CHUNK(i)
            largest[i] = -INFINITY;
            total[i] = 0.0f;
            for (int d = 0; d < PARTS; d++)
                sum[i][d] = 0.0f;
        }
        const int n = min(BLOCK, end - block), skipped = max(first - block, 0);
        for (int part = 0; part < BLOCK; part += 16) {
            float16 dot[HEADS], r[16];
            __global const ELEMENT(K_DTYPE) *key[16];
#pragma unroll
            for (int j = 0; j < 16; j++) {
                const int s = min(block + part + j, end - 1);
                key[j] = k + HOME(s) * k_slot + s * k_step;
            }
#pragma unroll
            for (int i = 0; i < HEADS; i++)
                dot[i] = 0.0f;
            int d = 0;
#pragma unroll 1
            for (; d + 16 <= HEAD; d += 16) {
#pragma unroll
                for (int j = 0; j < 16; j++)
                    r[j] = LOOSE16(K_DTYPE, key[j], d);
#if AHEAD > 0
#pragma unroll
                for (int j = 0; j < ROWS_A_STEP; j++) {
                    const int s = block + part + AHEAD + d / 16 * ROWS_A_STEP + j;
                    if (s < end) /* keys past the end are never read: bandwidth is scarce */
                        FETCH(K_DTYPE, HEAD, k + HOME(s) * k_slot + s * k_step)
                }
#endif
                tsr_turn16(r);
#pragma unroll
                for (int j = 0; j < 16; j++)
#pragma unroll
                    for (int i = 0; i < HEADS; i++)
                        dot[i] = fma(r[j], (float16)(q[i * q_head + d + j]), dot[i]);
            }
#pragma unroll 1
            for (; d < HEAD; d++) {
                float one[16] __attribute__((aligned(64)));
#pragma unroll
                for (int j = 0; j < 16; j++)
                    one[j] = LOAD(K_DTYPE, key[j], d);
#pragma unroll
                for (int i = 0; i < HEADS; i++)
                    dot[i] = fma(*(float16 *)one, (float16)(q[i * q_head + d]), dot[i]);
            }
            const int16 s = lane + (block + part);
#pragma unroll
            for (int i = 0; i < HEADS; i++) {
                dot[i] = CAPPED(float16, dot[i] * to_powers);
#if HAS_BIAS
                float one[16] __attribute__((aligned(64)));
                for (int j = 0; j < 16; j++)
                    one[j] = bias[bias0 + b * BIAS_STEP(0) + (h0 + i) * BIAS_STEP(1) + t * BIAS_STEP(2) +
                                  min(block + part + j, end - 1) * BIAS_STEP(3)];
                dot[i] = fma(*(float16 *)one, LOG2_E, dot[i]);
#endif
#if HAS_RELATIVE
                dot[i] = fma(LOCAL_NAME(relative16)(relative + relative0 + (h0 + i) * (2 * reach + 1), reach,
                                                    block + part - here), LOG2_E, dot[i]);
#endif
                *(float16 *)(share[i] + part) = s >= first && s < end ? dot[i] : (float16)(-INFINITY);
            }
        }
        for (int i = 0; i < HEADS; i++) {
            const float16 score0 = *(float16 *)share[i], score1 = *(float16 *)(share[i] + 16);
            const float16 both = score0 > score1 ? score0 : score1;
            const float8 eight = both.lo > both.hi ? both.lo : both.hi;
            const float4 four = eight.lo > eight.hi ? eight.lo : eight.hi;
            float top = fmax(fmax(four.x, four.y), fmax(four.z, four.w));
            top = fmax(top, largest[i]);
            const float base = top == -INFINITY ? 0.0f : top;
            float16 p0 = tsr_exp2_down_float16(score0 - base), p1 = tsr_exp2_down_float16(score1 - base);
            p0 = score0 == -INFINITY ? 0.0f : p0;
            p1 = score1 == -INFINITY ? 0.0f : p1;
            *(float16 *)share[i] = p0;
            *(float16 *)(share[i] + 16) = p1;
            shrink[i] = tsr_exp2_down_float16((float16)(largest[i] - base)).s0;
            largest[i] = top;
            total[i] *= shrink[i];
#pragma unroll
            for (int j = 0; j < BLOCK; j++)
                total[i] = ORDERED_ADD(share[i][j], total[i]);
        }
        int d = 0;
#pragma unroll 1
            for (; d + 16 * WIDE <= VALUE; d += 16 * WIDE) {
                float16 part[HEADS][WIDE];
#pragma unroll
                for (int i = 0; i < HEADS; i++)
#pragma unroll
                    for (int w = 0; w < WIDE; w++)
                        part[i][w] = sum[i][d / 16 + w] * shrink[i];
                for (int j = skipped; j < n; j++) {
                    __global const ELEMENT(V_DTYPE) *value = v + HOME(block + j) * v_slot + (block + j) * v_step;
#if AHEAD > 0
                    const int s = block + j + AHEAD;
                    if (s < end)
                        FETCH(V_DTYPE, 16 * WIDE, v + HOME(s) * v_slot + s * v_step + DISTANCE(V_DTYPE, d))
#endif
#pragma unroll
                    for (int w = 0; w < WIDE; w++) {
                        const float16 right = LOOSE16(V_DTYPE, value, d + w * 16);
#pragma unroll
                        for (int i = 0; i < HEADS; i++)
                            part[i][w] = fma(right, (float16)(share[i][j]), part[i][w]);
                    }
                }
#pragma unroll
                for (int i = 0; i < HEADS; i++)
#pragma unroll
                    for (int w = 0; w < WIDE; w++)
                        sum[i][d / 16 + w] = part[i][w];
            }
        for (; d < VALUE; d++)
            for (int i = 0; i < HEADS; i++) {
                float part = ((float *)sum[i])[d] * shrink[i];
                for (int j = skipped; j < n; j++)
                    part = fma(LOAD(V_DTYPE, v + HOME(block + j) * v_slot + (block + j) * v_step, d), share[i][j], part);
                ((float *)sum[i])[d] = part;
            }
    }

    for (int i = 0; several && i < HEADS; i++) {
        MERGE_CHUNK(i)
        largest[i] = all_largest[i];
        total[i] = all_total[i];
        for (int d = 0; d < PARTS; d++)
            sum[i][d] = all_sum[i][d];
    }
    for (int i = 0; i < HEADS; i++) {
        float part;
        SHARE_OF_TOTAL(float, DOWN, h0 + i, largest[i], total[i], part)
        int d = 0;
        for (; d + 16 <= VALUE; d += 16)
            *(__global tsr_loose_float16 *)(y + i * y_head + d) = sum[i][d / 16] * part;
        for (; d < VALUE; d++)
            y[i * y_head + d] = ((float *)sum[i])[d] * part;
#if HAS_LSE
        lse[lse0 + (b * H + h0 + i) * AT(T) + t] = LOG_OF_SUM(largest[i], total[i]);
#endif
    }
}

#undef HOME
#undef PARTS
#undef WIDE
#undef ROWS_A_STEP
#undef FETCH
#undef DOWN
#undef MERGE_CHUNK
#undef AHEAD
#undef BLOCK
