/* glu_linear/tiled_int8.cl - glu_linear/tiled with int8 products: rows of x quantised by
 * quantise_rows, weights in blocks.
 *
 *   grid    (2F/TN, R/TM) in work-groups of GN x GM (matmul/tile_int8.clh); the first half of the
 *           columns of a tile are gates
 *   x       in scratch, as quantise_rows.cl left it
 *   w       element n*K + k of its blocks, gates first; y as glu_linear/tiled
 *   adds    over glu_linear/tiled: products of integers, four to a word
 *   order   as glu_linear/plain: the same bytes, in any batch
 *   needs   as linear/tiled_int8
 *   build   W_DTYPE q8_0|q4_0|mxfp4, with PANELS of blocks, BIAS_DTYPE; HAS_BIAS; ACT; DOT 0|1; PANELS 0|1
 *           TM, TN the tile of a work-item: 8, 4, or 2, 2 for up to 8 rows (TN even)
 *   tune    GM, GN the work-group; SUB as linear/tiled
 *   claims  dot
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain. The variant is int8; its figures
 *           include quantising x. Meant for GPUs, where it was not measured.
 *
 *                                            pocl                      Intel
 *           variant           us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           M=1 K=768 F=2048 q8_0 w' act 4 int8
 *           plain           1228      5.1    1.00     933.8      6.7    1.00
 *           int8            2487      2.5    0.49     892.2      7.1    1.05
 *
 *           M=1 K=768 F=2048 q4_0 w' act 4 int8
 *           plain           1334      4.7    1.00     968.2      6.5    1.00
 *           int8            2734      2.3    0.49     880.9      7.1    1.10
 *
 *           M=128 K=768 F=2048 q8_0 w' act 4 int8
 *           plain         156011      5.2    1.00    161444      5.0    1.00
 *           int8           13849     58.1   11.26      8615     93.5   18.74
 *
 *           M=128 K=768 F=2048 q4_0 w' act 4 int8
 *           plain         158963      5.1    1.00    163529      4.9    1.00
 *           int8           14865     54.2   10.69      9233     87.2   17.71 */
#if TN % 2
#error "TN is even: as many gates as ups in a work-item"
#endif
#define TILE_F (GN * TN / 2)
#include "matmul/dot.clh"
#include "matmul/pieces_wide.clh"
#include "matmul/sub_size.clh"
#include "weighted/quantise.clh"
#define PACKED(m) (x + (tile_m + (m)) * ROW_WORDS(depth, MINIMA))
#define INSIDE_M(m) (tile_m + (m) < rows)
#define INSIDE_N(n) (tile_f + ((n) < TILE_F ? (n) : (n) - TILE_F) < F)
#define OUTPUT_OF(n) ((n) < TILE_F ? tile_f + (n) : F + tile_f + (n) - TILE_F)

__kernel __attribute__((reqd_work_group_size(GN, GM, 1))) SUB_SIZE void
KERNEL(__global const uint *x, __global const ELEMENT(W_DTYPE) *w, int w0, __global const ELEMENT(BIAS_DTYPE) *bias,
       int bias0, __global float *y, int y0, __global const int *dims, int R, int R_set, int F, int depth, int y_row)
{
    const int rows = SIZE(R);
    const int tile_f = (int)get_global_id(0) / GN * TILE_F, tile_m = (int)get_global_id(1) / GM * (GM * TM);
#include "matmul/tile_int8.clh"
#include "matmul/tile_int8_sums.clh"
#include "glu_linear/tiled_finish.clh"
}

#include "matmul/tile_int8_end.clh"
#undef TILE_F
