/* linear/units.cl - linear/tiled with products in f16 or bf16 by the device's matrix units.
 *
 *   grid    (N/TILE_N * work-group, R/TILE_M) in work-groups of SM*SN sub-groups (matmul/tile_units.clh)
 *   x, w, y, residual as linear/tiled. x and w are rounded to PRODUCT on their way into local memory
 *   adds    over linear/tiled: 8 to 32 times its multiply-adds a cycle, and half its local memory
 *   order   UNIT_K inputs at a time, ascending; a device gives the same bytes in any tile and batch, but
 *           not those of plain
 *   needs   a unit that probe/*.cl found; work-groups and local memory as the tile takes them
 *   build   UNIT_MMA|UNIT_MFMA|UNIT_WMMA11|UNIT_WMMA12|UNIT_DPAS8|UNIT_DPAS16 1 (units/*.clh); PRODUCT f16|bf16
 *           W_DTYPE, BIAS_DTYPE; TRANS_W, HAS_BIAS, HAS_RESIDUAL; ACT; FOUR_X, FOUR_W as linear/tiled
 *   tune    SM, SN the sub-groups of a work-group; TM, TN the results of the unit that each has; BK the step.
 *           The variant NAME has a tile of 64 or 128 rows; NAME_few, for up to 16 rows of x, one of 8 to 32
 *   claims  matrix; ldmatrix
 *   paid    never run on a device. Compiled for each (docs/gpu.md): none needs scratch memory
 *   source  the heads of units/*.clh */
#if TRANS_W
#define W_INDEX(n, k) (w0 + (tile_n + (n)) * depth + (k))
#else
#define W_INDEX(n, k) (w0 + (k) * N + tile_n + (n))
#endif
#define W_INSIDE(n) (tile_n + (n) < N)
#include "weighted/units_fetch.clh"

UNIT_GROUP __kernel __attribute__((reqd_work_group_size(SM * SN * UNIT_LANES, 1, 1))) void
KERNEL(__global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
       __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
       __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int depth, int x_row, int residual_row,
       int y_row)
{
    const int rows = SIZE(R);
    const int tile_n = (int)get_global_id(0) / (SM * SN * UNIT_LANES) * (SN * TN * UNIT_N);
    const int tile_m = (int)get_global_id(1) * (SM * TM * UNIT_M);
    x += x0;
#include "matmul/tile_units.clh"
#include "linear/tiled_finish.clh"
}

#include "matmul/tile_units_end.clh"
#undef W_INDEX
#undef W_INSIDE
