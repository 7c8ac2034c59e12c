/* attention/chunks.cl - the stage of split.cl: each chunk of keys by a work-group of its own.
 *
 *   grid    (GROUP * S/CHUNK, G, B) in work-groups of GROUP x 1 x 1: all rows of a key head, of
 *           which there are at most QUERIES. A row is what it is in tiled.cl
 *   parts   what a chunk gives, for each sequence, key head and chunk: QUERIES rows of VALUE sums,
 *           then the rows' largest scores, then their totals. A chunk that no row sees writes
 *           nothing
 *   operands, build, tune as attention/tiled
 *   masked, order, needs  as attention/tiled
 *   paid    see split.cl */
#include "attention/order.clh"
#include "matmul/pieces.clh"
#include "attention/tile.clh"

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
    const int start = first / BLOCK * BLOCK, stop = end;
#include "attention/tile_keys.clh"

    parts += PARTS_OF_CHUNK(chunk / CHUNK);
    if (lane < rows) {
        parts[QUERIES * VALUE + lane] = largest;
        parts[QUERIES * (VALUE + 1) + lane] = total;
    }
#pragma unroll
    for (int r = 0; r < V_OWN; r++)
#pragma unroll
        for (int c = 0; c < V_PARTS; c++) {
            const int row = sum_row + r, d = c * V_PART + own_four * 4;
            tsr_attention_put4(parts + row * VALUE + d, sums && row < rows ? VALUE - d : 0, sum[c][r]);
        }
}

#include "attention/forget_tile.clh"
