/* linear/tiled.cl - y[r,n] = act(sum_k x[r,k] w[k,n] + bias[n]) + residual[r,n] by work-groups that
 * share local memory.
 *
 *   grid    (N/TN, R/TM) in work-groups of GN x GM: a tile of GM*TM rows by GN*TN outputs
 *           (matmul/tile.clh)
 *   x[r,k]  at x0 + r*x_row + k; y and residual likewise
 *   w       w[n,k] at w0 + n*K + k where TRANS_W, else w[k,n] at w0 + k*N + n; element n*K + k of
 *           blocks. Both operands are read along the axis that is contiguous, whatever the tile, so
 *           that neighbouring work-items of a GPU read neighbouring words
 *   adds    over linear/plain: each element is read from global memory once for a whole tile
 *   order   as linear/plain, ascending k: the same bytes, in any batch
 *   needs   a work-group of GN*GM and 4 * BLOCKS * BK * (GM*TM + GN*TN + 8) bytes of local memory.
 *           tiled: 64 work-items and 7 KiB, tiled_64: 64 and 9, which every GPU has; tiled_128: 256
 *           and 17. No sub-groups, nothing beyond OpenCL C 1.1. HALF: cl_khr_fp16, OpenCL C 3.0, and
 *           half that local memory
 *   build   W_DTYPE, BIAS_DTYPE; TRANS_W, HAS_BIAS, HAS_RESIDUAL; ACT
 *           HALF 0 f32; 8 the products of TSR_COMPUTE_F16 (tile.clh): tiled_half, skinny_half
 *           FOUR_X, FOUR_W 1 where rows of x (w) are multiples of four elements: read four at a
 *           time
 *   tune    GM, GN the work-group; TM, TN the tile of a work-item; BK the step; VW 1|4 words of
 *           local memory read at once; BLOCKS 2: parts in turn, a barrier a step; SUB the size of a
 *           sub-group, 0: the compiler's choice. tiled: 4, 16, 8,
 *           4, 16, 1, 1. tiled_128, 128 x 128: 16, 16, 8, 8, 8, 4, 2. tiled_64, 64 x 64, where those
 *           would be fewer than the device's compute units: 8, 8, 8, 8, 8, 4, 2. skinny, for up to 8
 *           rows where few_float does not fit: 4, 16, 2, 1, 64, 1, 1: each of 64 work-items loads 16
 *           words of weights at once,
 *           and each sum is still formed by one of them
 *   claims  waves 2; loads 128
 *   paid    GFLOP/s of 512x768x768 on 2 AVX-512 cores, f32:
 *
 *           GM, GN, TM, TN, BK, VW     Intel's runtime   pocl 3.1 (runs barriers as loops)
 *           plain                      14.6              17
 *           4, 16, 8, 4, 16, 1         52.6              35
 *           8, 16, 8, 4, 16, 1         68.9
 *           4, 16, 8, 4, 32, 1         51
 *           4, 16, 4, 4, 16, 1         40
 *           4, 16, 8, 4, 16, 4         28.5
 *           8, 8, 4, 8, 16, 1          16.9
 *
 *           skinny, 2048x2048: 8 rows take the time of 1. tiled_half on Intel's runtime, where the
 *           processor has no half arithmetic and each step converts: 22 beside tiled 53, plain 15,
 *           packed 227; one row of 2048x2048 skinny_half 7.0 ms, skinny 4.1, packed_one 0.1. It is
 *           chosen only for those who ask for f16
 *
 *           GPUs: compiled, never run. The percentage of the f32 peak that issue slots and local
 *           memory allow in a step, f16 weights; an upper bound:
 *                                      gfx906  gfx942  gfx1030  gfx1100  sm_80  sm_90  Intel DG2
 *           4, 16, 8, 4, 16, 1, 1      82      54      83       62       89     57     47
 *           16, 16, 8, 8, 8, 4, 1      91      81      91       85       94     84     84
 *
 *           Registers of a work-item and waves, f32 weights. Weights of f16, q8_0 and q4_0 become
 *           floats on their way into local memory, and need the same within two registers:
 *                          gfx906   gfx90a   gfx1030   gfx1100   sm_80    sm_90    Intel DG2
 *           tiled          107 (2)  150 (3)  107 (9)   142 (10)  125 (4)  119 (4)  8 lanes
 *           tiled_64       114 (2)  168 (2)  115 (8)   162 (8)   127 (4)  128 (4)  8 lanes
 *           tiled_128      104 (2)  158 (3)  112 (9)   112 (12)  122 (4)  128 (4)  8 lanes
 *           None spills, but on Intel PVC, whose compiler puts 32 work-items into a thread: 31 to 110
 *           bytes; with SUB 16 (cl/tuned/gpu.tsv) 0, or 4 to 16 in three forms
 *
 *           skinny with one row of x has 14 to 29 there, as 7 of its 8 products are not used
 *   source  Volkov, Demmel 2008, doi:10.1109/SC.2008.5214359 (register tiles over blocks in local
 *           memory) */

#define W_INSIDE(n, k) (tile_n + (n) < N && (k) < depth)
#if TRANS_W
#define W_INDEX(n, k) (w0 + (tile_n + (n)) * depth + (k))
#else
#define W_INDEX(n, k) (w0 + (k) * N + tile_n + (n))
#endif
#include "weighted/tiled_fetch.clh"
#include "matmul/tile_type.clh"

__kernel __attribute__((reqd_work_group_size(GN, GM, 1))) SUB_SIZE void
KERNEL(__global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
       __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
       __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int depth, int x_row, int residual_row,
       int y_row)
{
    const int rows = SIZE(R);
    const int tile_n = (int)get_global_id(0) / GN * (GN * TN), tile_m = (int)get_global_id(1) / GM * (GM * TM);
    x += x0;
#include "matmul/tile.clh"
#include "matmul/tile_sums.clh"
#include "linear/tiled_finish.clh"
}

#include "matmul/tile_end.clh"
#undef W_INSIDE
#undef W_INDEX
#undef X_INSIDE
#undef X_INDEX
