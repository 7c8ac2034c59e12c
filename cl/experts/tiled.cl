/* experts/tiled.cl - the products of experts/plain by work-groups that share local memory.
 *
 *   grid    (N/(GN*TN) or, with GATED, N/(GN*TN/2); E or pairs) work-groups of GN x GM (matmul/tile.clh): all pairs
 *           of an expert, GM*TM at a time, by GN*TN sums; with GATED the first half of these are gates
 *   x, w, y as experts/plain. Both operands are read along the axis that is contiguous
 *   pairs   experts/pair_list.clh
 *   adds    over experts/plain: each element is read from global memory once for all rows of a tile
 *   order   as experts/plain: the same bytes, whatever experts other rows take
 *   needs   a work-group of GN*GM, and local memory as matmul/tile.clh and experts/pair_list.clh say and 4 * GM*TM
 *           bytes: 64 work-items and 8 KiB (tiled), 10 KiB (tiled_64), 12 KiB (tiled_few)
 *   build   W_DTYPE, BIAS_DTYPE; TRANS_W, HAS_BIAS, GATED; ACT; BY_PAIR, FIRST_EXPERT as experts/pair_list.clh;
 *           FOUR_X, FOUR_W as linear/tiled
 *   tune    as linear/tiled; with GATED, TN is a multiple of 2*VW. tiled_64, where an expert has more than 32 pairs
 *           in the mean: 64 x 64. tiled: 4, 16, 8, 4, 16, 1, 1, 32 x 64. tiled_few, where it has one or two: 4, 16, 1,
 *           2, 64, 1, 1, so that each work-item asks for 32 words of the weight at a time
 *   paid    GPUs: compiled, never run (docs/gpu.md) */
#define WIDTH (GN * TN / (GATED + 1)) /* outputs of a work-group */
#if GATED && TN % (2 * VW)
#error "TN is a multiple of 2*VW: as many gates as ups in a work-item"
#endif
#define X_INSIDE(m, k) ((m) < taken && (k) < depth)
#define X_INDEX(m, k) (row_of[m] + (k))
#define W_INSIDE(n, k) (first_n + ((n) < WIDTH ? (n) : (n) - WIDTH) < N && (k) < depth)
#define W_OUTPUT(n) (first_n + ((n) < WIDTH ? (n) : N + (n) - WIDTH))
#if TRANS_W
#define W_INDEX(n, k) (w0 + W_OUTPUT(n) * depth + (k))
#else
#define W_INDEX(n, k) (w0 + (k) * outputs + W_OUTPUT(n))
#endif
#include "weighted/tiled_fetch.clh"
#define ROWS TILE_M
#define HAS_RESIDUAL 0
#include "matmul/tile_type.clh"

__kernel __attribute__((reqd_work_group_size(GN, GM, 1))) SUB_SIZE void
KERNEL(__global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0, __global const int *experts,
       int experts0, __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
       __global const int *dims, int P, int P_set, int E, int N, int depth, int share, int x_row, int y_row)
{
    __local int row_of[GM * TM]; /* where the rows of a tile begin in x */
    const int pairs = SIZE(P), item = (int)get_global_id(1) / GM, first_n = (int)get_global_id(0) / GN * WIDTH,
              outputs = N * (GATED + 1);
    experts += experts0;
#include "matmul/tile.clh"
    const int self = lane;
#include "experts/pair_list.clh"
    w0 += own_e * outputs * depth;
    bias0 += own_e * outputs;
    for (;;) {
        int have;
        NEXT_PAIRS(have)
        if (have == 0)
            break;
        const int taken = min(have, ROWS);
        for (int i = lane; i < taken; i += GROUP)
            row_of[i] = x0 + PAIR(i) / share * x_row;
        barrier(CLK_LOCAL_MEM_FENCE);
#include "matmul/tile_sums.clh"
#include "experts/tiled_finish.clh"
        DROP_PAIRS(have)
    }
}

#include "experts/pair_list_end.clh"
#include "matmul/tile_end.clh"
#undef WIDTH
#undef X_INSIDE
#undef X_INDEX
#undef W_INSIDE
#undef W_OUTPUT
#undef W_INDEX
#undef ROWS
#undef HAS_RESIDUAL
