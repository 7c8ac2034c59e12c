/* attention/split.cl - attention/plain for GPUs and few queries: keys split over work-groups.
 *
 *   grid    (VALUE, H*T, B), one work-item each: an element of the result of a query of one head
 *   parts   what the stage (chunks.cl) left of each chunk of keys
 *   operands as attention/plain, then parts
 *   adds    over attention/tiled: a sequence of 4,096 keys is 16 work-groups for each key head,
 *           where tiled has one. This kernel merges what they give
 *   order   as order.clh says: the bytes of attention/plain
 *   needs   as attention/tiled; at most 16 rows, which are queries by query heads of a key head
 *   build   as attention/tiled
 *   memory  on its way in the stage: a part of 32 keys of STEP elements for each work-group, 8 KiB of
 *           f32 or 4 KiB of f16 at STEP 64, while the part before is used. 4,096 keys of 4 key heads
 *           are 64 work-groups, 0.5 MiB; of 32 key heads 512, 4 MiB, as far as they fit on the
 *           device at a time. An A770 needs 0.3 MB, an H100 2 MB to be busy
 *   paid    GPUs: compiled, never run. The stage at D 64, registers for 4, 8 and 16 rows: gfx906 110,
 *           120, 152 with f32 keys and values, 87, 96, 128 with f16; sm_90 108, 120, 132 and 72, 80,
 *           108. No scratch there, nor on gfx1030 and dg2, but that dg2 spills 52 bytes at 8 rows of
 *           f32 and 12 at 16 of f16; pvc spills 9 to 108 at 32 lanes. Local memory allows 1 wave on
 *           gfx906, 4 to 6 on gfx1030, 3 to 7 on sm_90.
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
    y[y0 + b * AT(yb) + t * AT(yt) + h * AT(yh) + d] = sum * (total > 0.0f ? 1.0f / total : 0.0f);
#if HAS_LSE
    if (d == 0)
        lse[lse0 + (b * H + h) * AT(T) + t] = total > 0.0f ? fma(largest, LN_2, log(total)) : -INFINITY;
#endif
}

#undef AT_ONCE
#undef BLOCK
