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
 *   paid    GPUs: compiled, never run
 *   source  Dao et al. 2023, "Flash-Decoding for long-context inference" */
#include "attention/order.clh"

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
#pragma unroll 4
    for (int chunk = first / CHUNK; chunk * CHUNK < end; chunk++) {
        __global const float *part = parts + PARTS_OF_CHUNK(chunk);
        const float chunk_largest = part[QUERIES * VALUE + row], chunk_total = part[QUERIES * (VALUE + 1) + row];
        const float chunk_sum = part[row * VALUE + d];
        float keep, add;
        MERGE_TOTALS(float, LOCAL_NAME(exp2), largest, total, chunk_largest, chunk_total, keep, add)
        sum = MERGED(sum, keep, chunk_sum, add);
    }
    y[y0 + b * AT(yb) + t * AT(yt) + h * AT(yh) + d] = sum * (total > 0.0f ? 1.0f / total : 0.0f);
#if HAS_LSE
    if (d == 0)
        lse[lse0 + (b * H + h) * AT(T) + t] = total > 0.0f ? fma(largest, LN_2, log(total)) : -INFINITY;
#endif
}

#undef BLOCK
