/* attention/tiled.cl - attention/plain by work-groups: a tile of queries of one key head, keys,
 * values and scores in local memory.
 *
 *   grid    (GROUP * rows/QUERIES, G, B) in work-groups of GROUP x 1 x 1. The rows of a key head are
 *           its H/G query heads at each query: row i is query i / group, head g*group + i % group.
 *           So a key is read once for all heads that share it
 *   operands as attention/plain
 *   adds    over attention/plain: a work-group shares keys, values and scores (tile.clh). The sums of
 *           chunks that are merged lie in y
 *   masked  keys that no row of the tile sees are not read; an infinite value that some row sees
 *           makes NaN of the others
 *   order   as order.clh says, each sum in one work-item: the bytes of attention/plain
 *   needs   a work-group of GROUP; at most 16 KiB of local memory by default
 *   build   as attention/plain; QUERIES 2|4|8|16 rows of a tile: 16 for prefill, 4 for decode,
 *           fewer for large heads; K_PART, V_PART, K_UNIT, V_UNIT as tile.clh says
 *   tune    GROUP 64..256 work-items; STEP 16..64 elements of a key or value that pass through local
 *           memory at once (fewer where 16 KiB would not hold them); SUB the size of a sub-group, 0: the
 *           compiler's choice
 *   claims  waves 3
 *   paid    GPUs: compiled, never run. 16 rows, keys and values of f32, f16; registers of a work-item,
 *           and waves of a SIMD (a quarter of a NVIDIA multiprocessor); local memory allows no more:
 *
 *                       gfx906    gfx942    gfx1030   sm_80     sm_90
 *           D 64        157 133   156 132   150 126   138 128   134 140
 *           D 128       176 154   176 154   169 147   166 132   136 140
 *           waves       1         1         4         3         3
 *
 *           No scratch and nothing spilled there, nor on gfx90a, gfx1100 and dg2; other heads (80, 96,
 *           256) neither. On Intel, tgllp spills 4 bytes at D 64 f32, and where keys don't begin at
 *           multiples of 16 bytes 100 to 112; pvc spills 72 to 130 at 32 lanes. With GROUP 256
 *           and, on pvc, SUB 16 (cl/tuned/gpu.tsv) none spills. The form before (loops unrolled wholly, one word a
 *           load, values not in local memory): 256 registers and 1.7 KB of scratch on gfx906, 1030
 *           and 1100
 *   source  Dao et al. 2022, arXiv:2205.14135 */
#include "attention/order.clh"
#include "matmul/pieces.clh"
#define SCORED BLOCK
#include "attention/tile.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_SIZE void KERNEL(
#include "attention/operands.clh"
)
{
    const int lane = (int)get_local_id(0), tile = (int)get_global_id(0) / GROUP * QUERIES;
    const int g = (int)get_global_id(1), b = (int)get_global_id(2), rows = AT(T) * group, keys = AT(S);
    const int least = 0, most = keys;
#include "attention/tile_rows.clh"
#include "attention/place.clh"
    __local float shares[QUERIES];
    float4 sum[V_PARTS][V_OWN];
    float largest, total;
    float all_largest = -INFINITY, all_total = 0.0f; /* of row number `lane`, as largest and total */
    y += y0 + b * AT(yb);

    const int chunk0 = first / CHUNK * CHUNK;
    for (int chunk = chunk0; chunk == chunk0 || chunk < end; chunk += CHUNK) {
        const int start = max(chunk, first / BLOCK * BLOCK), stop = min(chunk + CHUNK, end);
#include "attention/tile_keys.clh"
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < QUERIES) {
            float keep, add;
            MERGE_TOTALS(float, LOCAL_NAME(exp2), all_largest, all_total, largest, total, keep, add)
            shrinks[lane] = keep;
            tops[lane] = add;
            float share = 1.0f;
            if (chunk + CHUNK >= end)
                SHARE_OF_TOTAL(float, LOCAL_NAME(exp2), HEAD_OF(lane), all_largest, all_total, share)
            shares[lane] = share;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int r = 0; r < V_OWN; r++) {
            const int row = sum_row + r, t = (tile + row) / group, h = g * group + (tile + row) - t * group;
            const float keep = shrinks[row], add = tops[row], share = shares[row];
#pragma unroll
            for (int c = 0; c < V_PARTS; c++) {
                const int d = c * V_PART + own_four * 4, n = sums && tile + row < rows ? VALUE - d : 0;
                __global float *out = y + t * AT(yt) + h * AT(yh) + d;
                float4 all = tsr_attention_get4(out, chunk > chunk0 ? n : 0);
                TSR_TILE_MERGE(all, keep, sum[c][r], add)
                TSR_TILE_SCALE(all, share)
                tsr_attention_put4(out, n, all);
            }
        }
    }
#if HAS_LSE
    if (lane < QUERIES && tile + lane < rows) {
        const int t = (tile + lane) / group, h = g * group + (tile + lane) - t * group;
        lse[lse0 + (b * H + h) * AT(T) + t] = LOG_OF_SUM(all_largest, all_total);
    }
#endif
}

#include "attention/forget_tile.clh"
