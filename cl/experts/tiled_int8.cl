/* experts/tiled_int8.cl - experts/tiled with int8 products: rows of x quantised by quantise_rows, weights in blocks.
 *
 *   grid    (N/(GN*TN) or, with GATED, N/(GN*TN/2); E) work-groups of GN x GM (matmul/tile_int8.clh): all pairs of an
 *           expert, GM*TM at a time, by GN*TN sums; with GATED the first half of these are gates
 *   x       in scratch, as quantise_rows.cl left it
 *   w       as panels32_blocks (panels32.clh), one expert after the other; experts, y as experts/plain
 *   pairs   experts/pair_list.clh
 *   adds    over experts/tiled: products of integers, four to a word
 *   order   as experts/plain: the same bytes, whatever experts other rows take
 *   needs   a work-group of GN*GM, and local memory as matmul/tile_int8.clh and experts/pair_list.clh say and
 *           4 * GM*TM: 64 work-items and 8 to 9 KiB by default; DOT: a compiler with dot products of bytes, which
 *           probe/dot.cl tries; else shifts and products of OpenCL C 1.1
 *   build   W_DTYPE of blocks, BIAS_DTYPE; HAS_BIAS, GATED; ACT; DOT 0|1; FIRST_EXPERT as experts/plain; TM, TN the tile
 *           of a work-item: 8, 4, or 2, 2 for fewer than 64 rows, of which an expert has a few
 *   tune    GM, GN the work-group; SUB as linear/tiled
 *   claims  dot
 *   paid    GPUs: compiled, never run (docs/gpu.md) */
#include "matmul/dot.clh"
#include "matmul/pieces_wide.clh"
#include "matmul/sub_size.clh"
#include "weighted/quantise.clh"
#define PANELS 1
#define WIDTH (GN * TN / (GATED + 1)) /* outputs of a work-group */
#define PACKED(m) (x + row_of[m] * ROW_WORDS(depth, MINIMA))
#define INSIDE_M(m) ((m) < have)
#define INSIDE_N(n) (first_n + ((n) < WIDTH ? (n) : (n) - WIDTH) < N)
#define OUTPUT_OF(n) (outputs + first_n + ((n) < WIDTH ? (n) : N + (n) - WIDTH))
#define ROWS TILE_M
#define HAS_RESIDUAL 0
#define BY_PAIR 0

__kernel __attribute__((reqd_work_group_size(GN, GM, 1))) SUB_SIZE void
KERNEL(__global const uint *x, __global const ELEMENT(W_DTYPE) *w, int w0, __global const int *experts, int experts0,
       __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0, __global const int *dims, int P,
       int P_set, int E, int N, int depth, int share, int y_row)
{
    __local int row_of[GM * TM];
    const int pairs = SIZE(P), item = (int)get_global_id(1) / GM, first_n = (int)get_global_id(0) / GN * WIDTH;
    experts += experts0;
    w += w0;
#include "matmul/tile_int8.clh"
    const int self = lane;
#include "experts/pair_list.clh"
    const int outputs = own_e * N * (GATED + 1); /* before the expert's */
    bias0 += outputs;
    for (;;) {
        int have;
        NEXT_PAIRS(have)
        if (have == 0)
            break;
        for (int i = lane; i < min(have, ROWS); i += GROUP)
            row_of[i] = PAIR(i) / share;
        barrier(CLK_LOCAL_MEM_FENCE);
#include "matmul/tile_int8_sums.clh"
#include "experts/tiled_finish.clh"
        DROP_PAIRS(have)
    }
}

#include "experts/pair_list_end.clh"
#include "matmul/tile_int8_end.clh"
#undef PANELS
#undef WIDTH
#undef ROWS
#undef HAS_RESIDUAL
#undef BY_PAIR
