/* attention/one_chunk.cl - attention/plain for GPUs, few queries and at most CHUNK keys: a key head
 * by a work-group.
 *
 *   grid    (GROUP, G, B) in work-groups of GROUP x 1 x 1: all rows of a key head, of which there are
 *           at most QUERIES. A row is what it is in tiled.cl
 *   operands, masked, order  as attention/tiled
 *   adds    over attention/tiled: several parts of keys and values are on their way at any time
 *           (chunk.clh), where tiled waits for keys and for values in each tile
 *   needs   as attention/split; 48 KiB of local memory, so that two work-groups have room
 *   build, tune  as attention/chunks
 *   claims  waves 2; loads 128 unless K_DTYPE Q8_0; ahead 128 unless K_DTYPE Q8_0
 *   paid    GPUs: compiled, never run. As the stage of split.cl
 *   source  Dao et al. 2022, arXiv:2205.14135 */
#include "attention/order.clh"
#include "matmul/pieces.clh"
#define SCORED CHUNK
#include "attention/tile.clh"
/* Where element d of a row's result lies. */
#define RESULT(row, d) \
    (y + y0 + b * AT(yb) + (row) / group * AT(yt) + (g * group + (row) - (row) / group * group) * AT(yh) + (d))
#if HAS_LSE
#define KEEP_LSE(row, value) \
    lse[lse0 + (b * H + g * group + (row) - (row) / group * group) * AT(T) + (row) / group] = value;
#else
#define KEEP_LSE(row, value)
#endif
#define KEEP_TOTALS                                                                     \
    float share;                                                                        \
    SHARE_OF_TOTAL(float, LOCAL_NAME(exp2), HEAD_OF(lane), largest, total, share)                \
    shares[lane] = share;                                                               \
    if (lane < rows) {                                                                  \
        KEEP_LSE(lane, LOG_OF_SUM(largest, total))                                      \
    }
#define KEEP_SUM(row, d, n, four)                           \
    {                                                       \
        float4 all = four;                                  \
        TSR_TILE_SCALE(all, shares[row])                    \
        tsr_attention_put4(RESULT(row, d), n, all);         \
    }

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_SIZE void KERNEL(
#include "attention/operands.clh"
)
{
    const int lane = (int)get_local_id(0), tile = 0;
    const int g = (int)get_global_id(1), b = (int)get_global_id(2), rows = AT(T) * group, keys = AT(S);
    const int least = 0, most = keys;
    __local float shares[QUERIES];
#include "attention/tile_rows.clh"
    if (first >= end) {
        for (int i = lane; i < rows * VALUE; i += GROUP)
            *RESULT(i / VALUE, REST(i, VALUE)) = 0.0f;
        if (lane < rows) {
            KEEP_LSE(lane, NO_KEY(HEAD_OF(lane)))
        }
        return;
    }
#include "attention/place.clh"
#include "attention/chunk.clh"
}

#undef RESULT
#undef KEEP_LSE
#include "attention/forget_tile.clh"
