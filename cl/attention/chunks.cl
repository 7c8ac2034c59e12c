/* attention/chunks.cl - the stage of split.cl: each chunk of keys by a work-group of its own.
 *
 *   grid    (GROUP * S/CHUNK, G, B) in work-groups of GROUP x 1 x 1: all rows of a key head, of
 *           which there are at most QUERIES. A row is what it is in tiled.cl
 *   parts   what a chunk gives, for each sequence, key head and chunk: QUERIES rows of VALUE sums,
 *           then the rows' largest scores, then their totals. A chunk that no row sees writes
 *           nothing
 *   steps   as chunk.clh says
 *   operands as attention/tiled, then parts
 *   build   as attention/tiled; QUERIES 1|2 too
 *   tune    GROUP, STEP, SUB as attention/tiled; DEPTH: 16-byte loads on their way for each that a
 *           work-item needs for a part of f32 (twice as many of f16 or bf16, of half the size)
 *   masked, order, needs  as attention/tiled
 *   claims  waves 2; loads 128 unless K_DTYPE Q8_0; ahead 128 unless K_DTYPE Q8_0
 *   paid    see split.cl */
#include "attention/order.clh"
#include "matmul/pieces.clh"
#define SCORED CHUNK
#include "attention/tile.clh"
#define KEEP_TOTALS                                     \
    if (lane < rows) {                                  \
        parts[QUERIES * VALUE + lane] = largest;        \
        parts[QUERIES * (VALUE + 1) + lane] = total;    \
    }
#define KEEP_SUM(row, d, n, four) tsr_attention_put4(parts + (row) * VALUE + (d), n, four);

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_SIZE void KERNEL(
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
    parts += PARTS_OF_CHUNK(chunk / CHUNK);
#include "attention/chunk.clh"
}

#include "attention/forget_tile.clh"
