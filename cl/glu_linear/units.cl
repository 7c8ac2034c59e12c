/* glu_linear/units.cl - glu_linear/tiled with products in f16 or bf16 by the device's matrix units.
 *
 *   grid    (2F/TILE_N * work-group, R/TILE_M) in work-groups of SM*SN sub-groups (matmul/tile_units.clh).
 *           The first half of a tile's columns are gates, the second the ups of the same outputs
 *   x, w, y as glu_linear/tiled; adds, order, needs, build, tune as linear/units, TN even
 *   claims  matrix; ldmatrix
 *   paid    never run on a device. Compiled for each (docs/gpu.md): none needs scratch memory
 *   source  the heads of units/*.clh */
#if TN % 2
#error "TN is even: as many gates as ups in a sub-group"
#endif
#define TILE_F (SN * TN * UNIT_N / 2)
#define W_OUTPUT(n) ((n) < TILE_F ? tile_f + (n) : F + tile_f + (n) - TILE_F)
#define W_INSIDE(n) (tile_f + ((n) < TILE_F ? (n) : (n) - TILE_F) < F)
#if TRANS_W
#define W_INDEX(n, k) (w0 + W_OUTPUT(n) * depth + (k))
#else
#define W_INDEX(n, k) (w0 + (k) * 2 * F + W_OUTPUT(n))
#endif
#include "weighted/units_fetch.clh"

UNIT_GROUP __kernel __attribute__((reqd_work_group_size(SM * SN * UNIT_LANES, 1, 1))) void
KERNEL(__global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
       __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0, __global const int *dims, int R,
       int R_set, int F, int depth, int x_row, int y_row)
{
    const int rows = SIZE(R);
    const int tile_f = (int)get_global_id(0) / (SM * SN * UNIT_LANES) * TILE_F;
    const int tile_m = (int)get_global_id(1) * (SM * TM * UNIT_M);
    x += x0;
#include "matmul/tile_units.clh"
#include "glu_linear/tiled_finish.clh"
}

#include "matmul/tile_units_end.clh"
#undef TILE_F
#undef W_OUTPUT
#undef W_INSIDE
#undef W_INDEX
