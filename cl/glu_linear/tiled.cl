/* glu_linear/tiled.cl - y[r,f] = act(x w_gate + bias_gate) * (x w_up + bias_up) by work-groups that
 * share local memory.
 *
 *   grid    (2F/TN, R/TM) in work-groups of GN x GM: GM*TM rows by GN*TN/2 outputs
 *           (matmul/tile.clh). The first half of the columns of a tile are gates, the second the
 *           ups of the same outputs, so that a work-item has both sums of an output
 *   x[r,k]  at x0 + r*x_row + k; y likewise
 *   w       has 2F outputs, gates first: w[n,k] at w0 + n*K + k where TRANS_W, else w[k,n] at w0 +
 *           k*2F + n
 *   adds    over glu_linear/plain: each element is read from global memory once for a whole tile
 *   order   as glu_linear/plain, ascending k: the same bytes, in any batch
 *   needs   a work-group of GN*GM and 4 * BLOCKS * BK * (GM*TM + GN*TN + 8) bytes of local memory:
 *           64 work-items and 7 KiB (tiled) or 9 KiB (tiled_64), 256 and 17 KiB (tiled_128)
 *   build   W_DTYPE, BIAS_DTYPE; TRANS_W, HAS_BIAS; ACT; FOUR_X, FOUR_W, HALF as linear/tiled
 *   tune    as linear/tiled, TN a multiple of 2*VW
 *   claims  waves 2; loads 128
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain. Meant for GPUs, where it was not
 *           measured.
 *
 *                                            pocl                      Intel
 *           variant           us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           M=1 K=768 F=2048 f32 w' act 4
 *           plain           1334      4.7    1.00     390.6     16.1    1.00
 *           tiled           3595      1.8    0.37      2366      2.7    0.17
 *
 *           M=1 K=768 F=2048 f16 w' act 4
 *           plain           2478      2.5    1.00     396.5     15.9    1.00
 *           tiled           3394      1.9    0.73      1888      3.3    0.21
 *
 *           M=1 K=768 F=2048 bf16 w' act 4
 *           plain           1305      4.8    1.00     468.9     13.4    1.00
 *           tiled           3368      1.9    0.39      1941      3.2    0.24
 *
 *           M=128 K=768 F=2048 f32 w' act 4
 *           plain         106179      7.6    1.00     18547     43.4    1.00
 *           tiled          17979     44.8    5.91      9380     85.8    1.98
 *
 *           M=128 K=768 F=2048 f16 w' act 4
 *           plain         121075      6.7    1.00     30720     26.2    1.00
 *           tiled          15205     53.0    7.96      7858    102.5    3.91
 *
 *           M=128 K=768 F=2048 bf16 w' act 4
 *           plain          91854      8.8    1.00     26484     30.4    1.00
 *           tiled          15649     51.5    5.87      7571    106.4    3.50
 *   source  Volkov, Demmel 2008, doi:10.1109/SC.2008.5214359 */

#if TN % (2 * VW)
#error "TN is a multiple of 2*VW: as many gates as ups in a work-item"
#endif
#define TILE_F (GN * TN / 2)
#define W_OUTPUT(n) ((n) < TILE_F ? tile_f + (n) : F + tile_f + (n) - TILE_F)
#define W_INSIDE(n, k) (tile_f + ((n) < TILE_F ? (n) : (n) - TILE_F) < F && (k) < depth)
#if TRANS_W
#define W_INDEX(n, k) (w0 + W_OUTPUT(n) * depth + (k))
#else
#define W_INDEX(n, k) (w0 + (k) * 2 * F + W_OUTPUT(n))
#endif
#include "weighted/tiled_fetch.clh"
#include "matmul/tile_type.clh"

__kernel __attribute__((reqd_work_group_size(GN, GM, 1))) SUB_SIZE void
KERNEL(__global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
       __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0, __global const int *dims, int R,
       int R_set, int F, int depth, int x_row, int y_row)
{
    const int rows = SIZE(R);
    const int tile_f = (int)get_global_id(0) / GN * TILE_F, tile_m = (int)get_global_id(1) / GM * (GM * TM);
    x += x0;
#include "matmul/tile.clh"
#include "matmul/tile_sums.clh"
#include "glu_linear/tiled_finish.clh"
}

#include "matmul/tile_end.clh"
#undef TILE_F
#undef W_OUTPUT
#undef W_INSIDE
#undef W_INDEX
#undef X_INSIDE
#undef X_INDEX
