/* attention/tiled.cl - attention/plain by work-groups: a tile of queries of one key head, keys and
 * scores in local memory.
 *
 *   grid    (64 * rows/QUERIES, G, B) in work-groups of 64 x 1 x 1. The rows of a key head are its
 *           H/G query heads at each query: row i is query i / group, head g*group + i % group. So a
 *           key is read once for all heads that share it, and one kernel serves prefill and decode
 *   operands as attention/plain
 *   adds    over attention/plain: a work-group shares keys and scores.
 *           Scores of a tile of 32 keys: a work-item has one key and QUERIES/2 rows. Keys pass
 *           through local memory STEP elements at a time, because neighbours must read neighbouring
 *           words while each sum goes along a key.
 *           Values: a work-item has every 64th element for all rows, read once, straight from
 *           global memory
 *   masked  keys that no row of the tile sees are not read; an infinite value that some row sees
 *           makes NaN of the others
 *   order   as order.clh says, each sum in one work-item: the bytes of attention/plain
 *   needs   a work-group of 64; 4 * (QUERIES * (HEAD + 36) + STEP * 33) bytes of local memory, at
 *           most 15 KiB by default
 *   build   as attention/plain; QUERIES 2|4|8|16 rows of a tile: 16 for prefill, 4 for decode,
 *           fewer for large heads
 *   tune    STEP 8..32 elements of a key that are loaded at once
 *   paid    GPUs: compiled, never run. 16 rows: NVIDIA 126-186 registers, none spilled; AMD 256
 *           registers and 1.7 KB of scratch an item (gfx906, 1030, 1100), 664 bytes on gfx90a and
 *           942. `#pragma unroll 4` on the loops over d, keys and the maximum would bring gfx1030
 *           to 147 registers and no scratch
 *   source  Dao et al. 2022, arXiv:2205.14135 */
#include "attention/order.clh"
#define GROUP 64
#define OWN (QUERIES / 2)
#define COLUMNS ((VALUE + GROUP - 1) / GROUP)
#define LOADS ((BLOCK * STEP + GROUP - 1) / GROUP)

float LOCAL_NAME(exp2)(float x)
{
    TSR_EXP2_DOWN(float, int, x)
    return x;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void KERNEL(
#include "attention/operands.clh"
)
{
    __local float query[HEAD * QUERIES], part[STEP * (BLOCK + 1)], score[BLOCK * QUERIES];
    __local float tops[QUERIES], shrinks[QUERIES];
    __local int firsts[QUERIES], ends[QUERIES];
    const int lane = (int)get_local_id(0), tile = (int)get_global_id(0) / GROUP * QUERIES;
    const int g = (int)get_global_id(1), b = (int)get_global_id(2), rows = AT(T) * group, keys = AT(S);

    if (lane < QUERIES) { /* the keys that each row sees */
        int first = 0, end = tile + lane < rows ? keys : 0;
#if CAUSAL || WINDOW > 0
        int here = (tile + lane) / group;
#if HAS_PAST
        here += past[past0 + b];
#endif
#endif
#include "attention/visible.clh"
        firsts[lane] = first;
        ends[lane] = end;
    }
    for (int i = lane; i < HEAD * QUERIES; i += GROUP) { /* the queries, elements outermost */
        const int r = i / HEAD, d = i - r * HEAD, t = (tile + r) / group, h = g * group + (tile + r) - t * group;
        query[d * QUERIES + r] = tile + r < rows ? q[q0 + b * AT(qb) + t * AT(qt) + h * AT(qh) + d] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int first = keys, end = 0; /* the keys that some row sees */
    for (int r = 0; r < QUERIES; r++)
        if (firsts[r] < ends[r]) {
            first = min(first, firsts[r]);
            end = max(end, ends[r]);
        }

#include "attention/place.clh"
    const int own_key = REST(lane, BLOCK), own_row = lane / BLOCK * OWN;
    float largest = -INFINITY, total = 0.0f; /* of row number `lane`, if there is one */
    float sum[QUERIES][COLUMNS];
#pragma unroll
    for (int r = 0; r < QUERIES; r++)
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            sum[r][c] = 0.0f;

    for (int block = first / BLOCK * BLOCK; block < end; block += BLOCK) {
        float dot[OWN];
#pragma unroll
        for (int r = 0; r < OWN; r++)
            dot[r] = 0.0f;
        for (int d0 = 0; d0 < HEAD; d0 += STEP) {
            float next[LOADS];
#pragma unroll
            for (int e = 0; e < LOADS; e++) {
                const int i = e * GROUP + lane, s = block + i / STEP, d = d0 + REST(i, STEP);
                next[e] = i < BLOCK * STEP && s >= first && s < end && d < HEAD
                              ? LOAD(K_DTYPE, k, HOME(s) * k_slot + s * k_step + d)
                              : 0.0f;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
            for (int e = 0; e < LOADS; e++) {
                const int i = e * GROUP + lane;
                if (i < BLOCK * STEP)
                    part[REST(i, STEP) * (BLOCK + 1) + i / STEP] = next[e];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int d = 0; d < STEP && d0 + d < HEAD; d++) {
                const float key = part[d * (BLOCK + 1) + own_key];
#pragma unroll
                for (int r = 0; r < OWN; r++)
                    dot[r] = fma(key, query[(d0 + d) * QUERIES + own_row + r], dot[r]);
            }
        }
#pragma unroll
        for (int r = 0; r < OWN; r++) {
            const int s = block + own_key, row = own_row + r;
            float x = -INFINITY;
            if (s >= firsts[row] && s < ends[row]) {
                x = dot[r] * (scale * LOG2_E);
#if HAS_BIAS || HAS_RELATIVE
                const int t = (tile + row) / group, h = g * group + (tile + row) - t * group;
#endif
#if HAS_BIAS
                x = fma(bias[bias0 + b * BIAS_STEP(0) + h * BIAS_STEP(1) + t * BIAS_STEP(2) + s * BIAS_STEP(3)], LOG2_E, x);
#endif
#if HAS_RELATIVE
#if HAS_PAST
                x = fma(RELATIVE(h, s - t - past[past0 + b]), LOG2_E, x);
#else
                x = fma(RELATIVE(h, s - t), LOG2_E, x);
#endif
#endif
            }
            dot[r] = x;
            score[own_key * QUERIES + row] = x;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < QUERIES) {
            float top = largest;
            for (int i = 0; i < BLOCK; i++)
                top = fmax(top, score[i * QUERIES + lane]);
            const float shrink = top == -INFINITY ? 1.0f : LOCAL_NAME(exp2)(largest - top);
            largest = top;
            total *= shrink;
            tops[lane] = top;
            shrinks[lane] = shrink;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int r = 0; r < OWN; r++) /* a bias of -inf masks a key too */
            score[own_key * QUERIES + own_row + r] =
                dot[r] == -INFINITY ? 0.0f : LOCAL_NAME(exp2)(dot[r] - tops[own_row + r]);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < QUERIES)
            for (int i = 0; i < BLOCK; i++)
                total = ORDERED_ADD(score[i * QUERIES + lane], total);
#pragma unroll
        for (int r = 0; r < QUERIES; r++)
#pragma unroll
            for (int c = 0; c < COLUMNS; c++)
                sum[r][c] *= shrinks[r];
        for (int s = max(block, first); s < min(block + BLOCK, end); s++) {
            const int place = HOME(s) * v_slot + s * v_step;
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                const int d = c * GROUP + lane;
                const float value = d < VALUE ? LOAD(V_DTYPE, v, place + d) : 0.0f;
#pragma unroll
                for (int r = 0; r < QUERIES; r++)
                    sum[r][c] = fma(value, score[(s - block) * QUERIES + r], sum[r][c]);
            }
        }
    }

    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < QUERIES)
        shrinks[lane] = total > 0.0f ? 1.0f / total : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int r = 0; r < QUERIES; r++) {
        const int t = (tile + r) / group, h = g * group + (tile + r) - t * group;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            if (tile + r < rows && c * GROUP + lane < VALUE)
                y[y0 + b * AT(yb) + t * AT(yt) + h * AT(yh) + c * GROUP + lane] = sum[r][c] * shrinks[r];
#if HAS_LSE
        if (tile + r < rows && lane == r)
            lse[lse0 + (b * H + h) * AT(T) + t] = total > 0.0f ? fma(largest, LN_2, log(total)) : -INFINITY;
#endif
    }
}

#undef GROUP
#undef OWN
#undef COLUMNS
#undef LOADS
#undef HOME
#undef BLOCK
