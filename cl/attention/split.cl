/* attention/split.cl - attention/plain for GPUs and few queries: keys split over work-groups.
 *
 *   grid    (VALUE, H*T, B), one work-item each: an element of the result of a query of one head
 *   parts   what the stage (chunks.cl) left of each chunk of keys
 *   operands as attention/plain, then parts
 *   adds    over attention/tiled: a sequence of 4,096 keys is 16 work-groups for each key head,
 *           where tiled has one. This kernel merges what they give
 *   order   as order.clh says: the bytes of attention/plain
 *   needs   as attention/tiled; at most 16 rows, which are queries by query heads of a key head;
 *           20 KiB of local memory for 8 rows, 32 for 16
 *   build   as attention/tiled; QUERIES 1|2 too
 *   memory  on its way in the stage: DEPTH parts of 32 keys of STEP elements for each work-group,
 *           32 KiB at STEP 64 and DEPTH 4 (twice as many keys of f16, of half the size). 4,096 keys
 *           of 4 key heads are 64 work-groups, 2 MiB; of 32 key heads 512, 16 MiB, as far as they
 *           fit on the device at a time. An A770 needs 0.3 MB, an H100 2 MB to be busy
 *   claims  waves 6
 *   paid    GPUs: compiled, never run. The stage with GROUP 256 and DEPTH 4, f32; registers of a
 *           work-item (waves of a SIMD, or of a quarter of a NVIDIA multiprocessor):
 *
 *                           gfx906  gfx942  gfx1100  sm_90
 *           1 row, D 128    83 (3)  82 (5)  82 (16)  86 (5)
 *           8 rows, D 64    83 (3)  82 (3)  83 (12)  80 (5)
 *           16 rows, D 64   82 (2)  82 (2)  82 (8)   88 (3)
 *
 *           f16 takes as many. No scratch there, nor on dg2; pvc spills 53 to 130 bytes at 32 lanes.
 *           The form before went through a chunk once, tile by tile, with one part on its way: 8 KiB
 *           of f32 or 4 of f16, and a wait for keys and one for values in each of 8 tiles
 *   source  Dao et al. 2023, "Flash-Decoding for long-context inference" */
#include "attention/order.clh"
#define AT_ONCE 4 /* chunks that are read before they are merged */

float LOCAL_NAME(exp2)(float x)
{
    TSR_EXP2_DOWN(float, int, x)
    return x;
}

ENTRY KERNEL(PLACE
#include "attention/operands.clh"
    , __global const float *parts)
{
    const int d = ITEM(0), t = ITEM(1) / H, h = ITEM(1) - t * H, b = ITEM(2);
    if (d >= VALUE || t >= AT(T) || b >= AT(B))
        return;
    const int g = h / group, row = t * group + h - g * group, keys = AT(S);
    int first = 0, end = keys;
#if CAUSAL || WINDOW > 0
#if HAS_PAST
    const int here = past[past0 + b] + t;
#else
    const int here = t;
#endif
#endif
#include "attention/visible.clh"

    if (first >= end)
        end = 0;
    float largest = -INFINITY, total = 0.0f, sum = 0.0f;
    for (int chunk0 = first / CHUNK; chunk0 * CHUNK < end; chunk0 += AT_ONCE) {
        float chunk_largest[AT_ONCE], chunk_total[AT_ONCE], chunk_sum[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            __global const float *part = parts + PARTS_OF_CHUNK(chunk0 + ((chunk0 + i) * CHUNK < end ? i : 0));
            chunk_largest[i] = part[QUERIES * VALUE + row];
            chunk_total[i] = part[QUERIES * (VALUE + 1) + row];
            chunk_sum[i] = part[row * VALUE + d];
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            if ((chunk0 + i) * CHUNK < end) {
                float keep, add;
                MERGE_TOTALS(float, LOCAL_NAME(exp2), largest, total, chunk_largest[i], chunk_total[i], keep, add)
                sum = MERGED(sum, keep, chunk_sum[i], add);
            }
    }
    float share;
    SHARE_OF_TOTAL(float, LOCAL_NAME(exp2), h, largest, total, share)
    y[y0 + b * AT(yb) + t * AT(yt) + h * AT(yh) + d] = sum * share;
#if HAS_LSE
    if (d == 0)
        lse[lse0 + (b * H + h) * AT(T) + t] = LOG_OF_SUM(largest, total);
#endif
}

#undef AT_ONCE
#undef BLOCK
