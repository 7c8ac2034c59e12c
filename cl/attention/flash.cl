/* attention/flash.cl - attention/plain for CPUs and many queries: 32 of them in lanes, keys and
 * values broadcast.
 *
 *   grid    (T/32, H, B), work-groups of one work-item: 32 queries of one head. The last tile of
 *           queries, which sees the most keys, comes first
 *   operands, build as attention/plain
 *   adds    over attention/plain: scores and sums lie in the lanes of two float16, so nothing is
 *           added across lanes. A tile of keys is copied to private memory as f32, once for all 32
 *           queries: after that any dtype, stride and source reads alike. A step takes STEP keys
 *           (or elements of a value) by 32 queries: 2 * STEP sums
 *   masked  keys that no query sees are not read. A tile with keys that some of the 32 queries
 *           don't see takes a second copy of the steps, which masks; a test in a single copy would
 *           move the sums out of the registers. An infinite value that some query sees makes NaN of
 *           the queries of its tile that don't see it
 *   order   as order.clh says: the bytes of attention/plain
 *   needs   float16 in registers (a CPU)
 *   paid    GFLOP/s of visible pairs, 12 heads, f32:
 *
 *           2 AVX-512 cores, pocl     D 64   causal   D 128   causal    (a packed GEMM: 214-224)
 *           T 512                     168    149      161     159
 *           T 2048                    157    155      162     158
 *
 *           Intel's runtime, in the same runs: 184 at T 512, D 64; 170 causal at T 2048, D 64; 158
 *           at T 2048, D 128. docs/performance.md has it beside PyTorch. Failed: one loop with a
 *           mask tested at run time, 106 in place of 200 in a prototype on 2 AVX-512 cores; STEP 4,
 *           which gave other bytes on one driver, so STEP is not a tunable
 *   source  Dao et al. 2022, arXiv:2205.14135 */
#define STEP 8
#include "attention/order.clh"
#include "attention/vectors.clh"
#if HAS_SOFT_CAP
#include "elementwise/math16.clh"
#endif
#define QUERIES 32
#define LONGEST (HEAD > VALUE ? HEAD : VALUE)

/* Copies n keys or values, from number `block` on, to `rows` as rows of `size` floats. */
#define COPY_ROWS(dtype, size, from, slot_stride, step)                                     \
    for (int i = 0; i < n; i++) {                                                           \
        __global const ELEMENT(dtype) *row = (from) + HOME(block + i) * (slot_stride) + (block + i) * (step); \
        int d = 0;                                                                          \
        for (; d + 16 <= (size); d += 16)                                                   \
            *(tsr_loose_private16 *)(rows + i * (size) + d) = LOOSE16(dtype, row, d);       \
        for (; d < (size); d++)                                                             \
            rows[i * (size) + d] = LOAD(dtype, row, d);                                     \
    }
#ifndef LOOSE_PRIVATE16 /* a program may include this file several times */
#define LOOSE_PRIVATE16
typedef float16 __attribute__((aligned(4))) tsr_loose_private16;
#endif

#define MERGE_CHUNK(i)                                                                              \
    {                                                                                               \
        float16 keep, add;                                                                          \
        MERGE_TOTALS(float16, tsr_exp2_down_float16, all_largest[i], all_total[i], largest[i], total[i], keep, add) \
        for (int d = 0; d < VALUE; d++)                                                             \
            all_sum[d][i] = MERGED(all_sum[d][i], keep, sum[d][i], add);                            \
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

    enum { LANES = 2, many = LANES };
#include "attention/lanes_visible.clh"
#include "attention/place.clh"
    q += q0 + b * AT(qb) + h * AT(qh) + t0 * AT(qt);
    y += y0 + b * AT(yb) + h * AT(yh) + t0 * AT(yt);
    const int q_step = AT(qt), y_step = AT(yt);
    const float to_powers = STRETCH;

    float16 query[HEAD][2], sum[VALUE][2], all_sum[VALUE][2], score[BLOCK][2];
    float rows[BLOCK * LONGEST] __attribute__((aligned(64)));
    float16 largest[2] = {(float16)(-INFINITY), (float16)(-INFINITY)}, total[2] = {(float16)(0.0f), (float16)(0.0f)};
    float16 all_largest[2], all_total[2]; /* of the chunks before, as all_sum */

    for (int i = 0; i < 2; i++) {
        int d = 0;
        for (; d + 16 <= HEAD; d += 16) {
            float16 r[16];
#pragma unroll
            for (int j = 0; j < 16; j++)
                r[j] = LOOSE16(TSR_DTYPE_F32, q + min(i * 16 + j, here_many - 1) * q_step, d);
            tsr_turn16(r);
#pragma unroll
            for (int j = 0; j < 16; j++)
                query[d + j][i] = r[j];
        }
        for (; d < HEAD; d++)
            for (int j = 0; j < 16; j++)
                ((float *)&query[d][i])[j] = q[min(i * 16 + j, here_many - 1) * q_step + d];
    }
    for (int d = 0; d < VALUE; d++)
        sum[d][0] = sum[d][1] = 0.0f;
    const bool several = SEVERAL_CHUNKS(first, end);
    for (int i = 0; several && i < 2; i++) {
        all_largest[i] = -INFINITY;
        all_total[i] = 0.0f;
        for (int d = 0; d < VALUE; d++)
            all_sum[d][i] = 0.0f;
    }

    for (int block = first / BLOCK * BLOCK; block < end; block += BLOCK) {
        for (int i = 0; NEXT_CHUNK(block, first) && i < 2; i++) {
            MERGE_CHUNK(i)
            largest[i] = -INFINITY;
            total[i] = 0.0f;
            for (int d = 0; d < VALUE; d++)
                sum[d][i] = 0.0f;
        }
#if !HAS_BIAS
        if (block >= all_first && block + BLOCK <= all_end) {
            const int n = BLOCK;
#define MASKED 0
#include "attention/flash_step.clh"
#undef MASKED
        } else
#endif
        {
            const int n = min(BLOCK, end - block);
#define MASKED 1
#include "attention/flash_step.clh"
#undef MASKED
        }
    }

    for (int i = 0; several && i < 2; i++) {
        MERGE_CHUNK(i)
        largest[i] = all_largest[i];
        total[i] = all_total[i];
        for (int d = 0; d < VALUE; d++)
            sum[d][i] = all_sum[d][i];
    }
    float16 share[2];
    for (int i = 0; i < 2; i++) {
        SHARE_OF_TOTAL(float16, tsr_exp2_down_float16, h, largest[i], total[i], share[i])
        int d = 0;
        for (; d + 16 <= VALUE; d += 16) {
            float16 r[16];
#pragma unroll
            for (int j = 0; j < 16; j++)
                r[j] = sum[d + j][i] * share[i];
            tsr_turn16(r);
            for (int j = 0; j < 16 && i * 16 + j < here_many; j++)
                *(__global tsr_loose_float16 *)(y + (i * 16 + j) * y_step + d) = r[j];
        }
        for (; d < VALUE; d++) {
            sum[d][i] *= share[i];
            for (int j = 0; j < 16 && i * 16 + j < here_many; j++)
                y[(i * 16 + j) * y_step + d] = ((float *)&sum[d][i])[j];
        }
    }
#if HAS_LSE
    for (int i = 0; i < here_many; i++) {
        const float all = ((float *)total)[i];
        lse[lse0 + (b * H + h) * queries + t0 + i] = LOG_OF_SUM(((float *)largest)[i], all);
    }
#endif
}

#undef HOME
#undef COPY_ROWS
#undef MERGE_CHUNK
#undef QUERIES
#undef LONGEST
#undef STEP
#undef BLOCK
