/* attention/chunks.cl - the stage of split.cl: each chunk of keys by a work-group of its own.
 *
 *   grid    (GROUP * S/CHUNK, G, B) in work-groups of GROUP x 1 x 1: all rows of a key head, of
 *           which there are at most QUERIES. A row is what it is in tiled.cl
 *   parts   what a chunk gives, for each sequence, key head and chunk: QUERIES rows of VALUE sums,
 *           then the rows' largest scores, then their totals. A chunk that no row sees writes
 *           nothing
 *   steps   the scores of all keys, tile by tile; then the exponentials of all of them; then the
 *           sums, tile by tile for each part of a value. So what is read next never depends on
 *           what is being computed, and AHEAD parts of keys, then of values, are on their way at
 *           any time. The first values are on their way during the exponentials
 *   operands as attention/tiled, then parts
 *   build   as attention/tiled; QUERIES 1|2 too
 *   tune    GROUP, STEP as attention/tiled; DEPTH: 16-byte loads on their way for each that a
 *           work-item needs for a part of f32 (twice as many of f16 or bf16, of half the size)
 *   masked, order, needs  as attention/tiled
 *   claims  loads 128; ahead 128
 *   paid    see split.cl */
#include "attention/order.clh"
#include "matmul/pieces.clh"
#define SCORED CHUNK
#include "attention/tile.clh"
#define AHEAD(X) (DEPTH * X##_UNIT > 4 ? DEPTH * X##_UNIT / 4 : 1) /* parts on their way */
/* The next place of two, of which the first one runs up to n - 1. */
#define NEXT(inner, outer, n) \
    if (++inner == (n)) {     \
        inner = 0;            \
        outer++;              \
    }

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void KERNEL(
#include "attention/operands.clh"
    , __global float *parts)
{
    const int lane = (int)get_local_id(0), chunk = (int)get_global_id(0) / GROUP * CHUNK, tile = 0;
    const int g = (int)get_global_id(1), b = (int)get_global_id(2), rows = AT(T) * group, keys = AT(S);
    const int least = chunk, most = min(chunk + CHUNK, keys);
#include "attention/tile_rows.clh"
    if (first >= end)
        return;
#include "attention/place.clh"
    const int start = first / BLOCK * BLOCK, stop = end, tiles = (end - start + BLOCK - 1) / BLOCK;
    parts += PARTS_OF_CHUNK(chunk / CHUNK);

    /* Scores. What is asked behind the last tile is not read, and ends as zeros in local memory. */
    {
        LOADED(K) next[AHEAD(K)][LOADS(K)];
        int ask_tile = 0, ask_part = 0, now_tile = 0, now_part = 0;
        float dot[OWN];
#pragma unroll
        for (int a = 0; a < AHEAD(K); a++) {
            ASK(K, next[a], k, HEAD, k_slot, k_step, start + ask_tile * BLOCK, ask_part * K_PART)
            NEXT(ask_part, ask_tile, K_PARTS)
        }
#pragma unroll 1
        for (int at = 0; at < tiles * K_PARTS; at += AHEAD(K)) {
#pragma unroll
            for (int a = 0; a < AHEAD(K); a++) {
                barrier(CLK_LOCAL_MEM_FENCE);
                PUT(K, next[a])
                barrier(CLK_LOCAL_MEM_FENCE);
                ASK(K, next[a], k, HEAD, k_slot, k_step, start + ask_tile * BLOCK, ask_part * K_PART)
                NEXT(ask_part, ask_tile, K_PARTS)
                if (now_tile < tiles) {
#pragma unroll
                    for (int r = 0; r < OWN; r++)
                        dot[r] = now_part ? dot[r] : 0.0f;
                    TSR_TILE_DOT(now_part)
                    if (now_part == K_PARTS - 1) {
                        const int block = start + now_tile * BLOCK;
#include "attention/tile_scores.clh"
                    }
                }
                NEXT(now_part, now_tile, K_PARTS)
            }
        }
    }

    LOADED(V) next[AHEAD(V)][LOADS(V)];
    int ask_tile = 0, ask_part = 0, now_tile = 0, now_part = 0;
#pragma unroll
    for (int a = 0; a < AHEAD(V); a++) {
        ASK(V, next[a], v, VALUE, v_slot, v_step, start + ask_tile * BLOCK, ask_part * V_PART)
        NEXT(ask_tile, ask_part, tiles)
    }

    /* Exponentials: a tile's largest score, the largest up to each tile, then all of them. */
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lane; i < tiles * QUERIES; i += GROUP) {
        const int of = i / QUERIES, row = i - of * QUERIES;
        float top = -INFINITY;
#pragma unroll 8
        for (int j = 0; j < BLOCK; j++)
            top = fmax(top, score[(of * BLOCK + j) * QUERIES + row]);
        tops[i] = top;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float largest = -INFINITY;
    if (lane < QUERIES) {
#pragma unroll 1
        for (int i = lane; i < tiles * QUERIES; i += QUERIES) {
            const float top = fmax(largest, tops[i]);
            shrinks[i] = top == -INFINITY ? 1.0f : LOCAL_NAME(exp2)(largest - top);
            largest = tops[i] = top;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lane; i < tiles * BLOCK * QUERIES; i += GROUP) { /* a bias of -inf masks a key too */
        const float x = score[i];
        const int row = i & (QUERIES - 1);
        score[i] = x == -INFINITY ? 0.0f : LOCAL_NAME(exp2)(x - tops[i / (BLOCK * QUERIES) * QUERIES + row]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < QUERIES) {
        float total = 0.0f;
#pragma unroll 1
        for (int of = 0; of < tiles; of++) {
            total *= shrinks[of * QUERIES + lane];
#pragma unroll 8
            for (int j = 0; j < BLOCK; j++)
                total = ORDERED_ADD(score[(of * BLOCK + j) * QUERIES + lane], total);
        }
        if (lane < rows) {
            parts[QUERIES * VALUE + lane] = largest;
            parts[QUERIES * (VALUE + 1) + lane] = total;
        }
    }

    /* Sums. */
    float4 sum[V_OWN];
#pragma unroll 1
    for (int at = 0; at < tiles * V_PARTS; at += AHEAD(V)) {
#pragma unroll
        for (int a = 0; a < AHEAD(V); a++) {
            barrier(CLK_LOCAL_MEM_FENCE);
            PUT(V, next[a])
            barrier(CLK_LOCAL_MEM_FENCE);
            ASK(V, next[a], v, VALUE, v_slot, v_step, start + ask_tile * BLOCK, ask_part * V_PART)
            NEXT(ask_tile, ask_part, tiles)
            if (now_part < V_PARTS) {
#pragma unroll
                for (int r = 0; r < V_OWN; r++) {
                    const float shrink = shrinks[now_tile * QUERIES + sum_row + r];
                    if (!now_tile)
                        sum[r] = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
                    TSR_TILE_SCALE(sum[r], shrink)
                }
                TSR_TILE_SUM(sum, now_tile * BLOCK)
                if (now_tile == tiles - 1)
#pragma unroll
                    for (int r = 0; r < V_OWN; r++) {
                        const int row = sum_row + r, d = now_part * V_PART + own_four * 4;
                        tsr_attention_put4(parts + row * VALUE + d, sums && row < rows ? VALUE - d : 0, sum[r]);
                    }
            }
            NEXT(now_tile, now_part, tiles)
        }
    }
}

#undef AHEAD
#undef NEXT
#include "attention/forget_tile.clh"
