/* linear/tiled_int8.cl - linear/tiled with int8 products: rows of x quantised by quantise_rows,
 * weights in blocks.
 *
 *   grid    (N/TN, R/TM) in work-groups of GN x GM (matmul/tile_int8.clh)
 *   x       in scratch, as quantise_rows.cl left it
 *   w       element n*K + k of its blocks, or PANELS: as panels32_blocks (panels32.clh), w0 0; y, residual
 *           as linear/tiled
 *   adds    over linear/tiled: products of integers, four to a word
 *   order   as linear/plain: the same bytes, in any batch
 *   needs   a work-group of GN*GM and local memory as matmul/tile_int8.clh says: 64 work-items and 7.25
 *           to 8 KiB by default; DOT: a compiler with dot products of bytes, which
 *           probe/dot.cl tries; else shifts and products of OpenCL C 1.1
 *   build   W_DTYPE q8_0|q4_0|mxfp4, with PANELS of blocks, BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT; DOT 0|1;
 *           PANELS 0|1
 *           TM, TN the tile of a work-item: 8, 4, or 2, 2 for up to 8 rows
 *   tune    GM, GN the work-group; SUB as linear/tiled
 *   claims  dot
 *   paid    GPUs: compiled, never run. Registers of a work-item (waves), instructions of the kernel,
 *           q4_0, TM 8, with the compiler's dot product:
 *                                              gfx90a         gfx1030        sm_90          Intel DG2
 *           one block, words one by one        209 (2) 2242   213 (4) 2206   168 (3) 1264   8 lanes, spilled
 *           two in turn, words by fours        148 (3) 1407   135 (7) 1361   158 (3)  864   8 lanes
 *           Without it sm_90 had about 2,000 instructions for 1,024 multiply-adds; gfx1030 and Intel's
 *           find it in the shifts, but gfx1030 spends 1,300 instructions on repacking */
#include "matmul/dot.clh"
#include "matmul/pieces_wide.clh"
#include "matmul/sub_size.clh"
#include "weighted/quantise.clh"
#define PACKED(m) (x + (tile_m + (m)) * ROW_WORDS(depth, MINIMA))
#define INSIDE_M(m) (tile_m + (m) < rows)
#define INSIDE_N(n) (tile_n + (n) < N)
#define OUTPUT_OF(n) (tile_n + (n))

__kernel __attribute__((reqd_work_group_size(GN, GM, 1))) SUB_SIZE void
KERNEL(__global const uint *x, __global const ELEMENT(W_DTYPE) *w, int w0, __global const ELEMENT(BIAS_DTYPE) *bias,
       int bias0, __global const float *residual, int residual0, __global float *y, int y0, __global const int *dims, int R,
       int R_set, int N, int depth, int residual_row, int y_row)
{
    const int rows = SIZE(R);
    const int tile_n = (int)get_global_id(0) / GN * (GN * TN), tile_m = (int)get_global_id(1) / GM * (GM * TM);
#include "matmul/tile_int8.clh"
#include "matmul/tile_int8_sums.clh"
#include "linear/tiled_finish.clh"
}

#include "matmul/tile_int8_end.clh"
