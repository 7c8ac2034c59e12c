/* glu_linear/units_int8.cl - glu_linear/tiled_int8 by the device's matrix units.
 *
 *   grid    (2F/TILE_N * work-group, R/TILE_M) in work-groups of SM*SN sub-groups (matmul/tile_units_int8.clh).
 *           The first half of a tile's columns are gates, the second the ups of the same outputs
 *   x, w, y as glu_linear/tiled_int8, w as panels32_blocks; adds, order, needs, build, tune as
 *           linear/units_int8, TN even
 *   claims  matrix; ldmatrix
 *   paid    never run on a device. Compiled for each (docs/gpu.md): none needs scratch memory
 *   source  the heads of units/*.clh */
#if TN % 2
#error "TN is even: as many gates as ups in a sub-group"
#endif
#define TILE_F (SN * TN * UNIT_N / 2)
#include "units/unit.clh"
#include "matmul/pieces_wide.clh"
#include "weighted/quantise.clh"
#define PACKED(m) (x + (tile_m + (m)) * ROW_WORDS(depth, MINIMA))
#define INSIDE_M(m) (tile_m + (m) < rows)
#define INSIDE_N(n) (tile_f + ((n) < TILE_F ? (n) : (n) - TILE_F) < F)
#define OUTPUT_OF(n) ((n) < TILE_F ? tile_f + (n) : F + tile_f + (n) - TILE_F)

UNIT_GROUP __kernel __attribute__((reqd_work_group_size(SM * SN * UNIT_LANES, 1, 1))) void
KERNEL(__global const uint *x, __global const ELEMENT(W_DTYPE) *w, int w0, __global const ELEMENT(BIAS_DTYPE) *bias,
       int bias0, __global float *y, int y0, __global const int *dims, int R, int R_set, int F, int depth, int y_row)
{
    const int rows = SIZE(R);
    const int tile_f = (int)get_global_id(0) / (SM * SN * UNIT_LANES) * TILE_F;
    const int tile_m = (int)get_global_id(1) * (SM * TM * UNIT_M);
#include "matmul/tile_units_int8.clh"
#include "glu_linear/tiled_finish.clh"
}

#include "matmul/tile_units_int8_end.clh"
#undef TILE_F
