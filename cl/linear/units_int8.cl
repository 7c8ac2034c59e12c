/* linear/units_int8.cl - linear/tiled_int8 by the device's matrix units.
 *
 *   grid    (N/TILE_N * work-group, R/TILE_M) in work-groups of SM*SN sub-groups (matmul/tile_units_int8.clh)
 *   x, w, y, residual as linear/tiled_int8, w as panels32_blocks
 *   adds    over linear/tiled_int8: a device's units multiply 4 to 16 times as many bytes a cycle as its dot
 *           products. Half of that is left, because a block's sums are scaled by the ordinary units
 *   order   as linear/plain: the same bytes, in any batch
 *   needs   a unit that probe/*.cl found; work-groups and local memory as the tile takes them
 *   build   UNIT_MMA|UNIT_MFMA|UNIT_WMMA11|UNIT_WMMA12|UNIT_DPAS8|UNIT_DPAS16 1 (units/*.clh)
 *           W_DTYPE of blocks, BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT
 *   tune    SM, SN the sub-groups of a work-group; TM, TN the results of the unit that each has; BLOCKS of a
 *           step; ROW_GROUP of the stage. The variant int8_NAME has a tile of 32 or 64 rows; int8_NAME_few,
 *           for up to 16 rows of x, one of 8 to 32
 *   claims  matrix; ldmatrix
 *   paid    never run on a device. Compiled for each (docs/gpu.md): none needs scratch memory
 *   source  the heads of units/*.clh */
#include "units/unit.clh"
#include "matmul/pieces_wide.clh"
#include "weighted/quantise.clh"
#define PACKED(m) (x + (tile_m + (m)) * ROW_WORDS(depth, MINIMA))
#define INSIDE_M(m) (tile_m + (m) < rows)
#define INSIDE_N(n) (tile_n + (n) < N)
#define OUTPUT_OF(n) (tile_n + (n))

UNIT_GROUP __kernel __attribute__((reqd_work_group_size(SM * SN * UNIT_LANES, 1, 1))) void
KERNEL(__global const uint *x, __global const ELEMENT(W_DTYPE) *w, int w0, __global const ELEMENT(BIAS_DTYPE) *bias,
       int bias0, __global const float *residual, int residual0, __global float *y, int y0, __global const int *dims, int R,
       int R_set, int N, int depth, int residual_row, int y_row)
{
    const int rows = SIZE(R);
    const int tile_n = (int)get_global_id(0) / (SM * SN * UNIT_LANES) * (SN * TN * UNIT_N);
    const int tile_m = (int)get_global_id(1) * (SM * TM * UNIT_M);
#include "matmul/tile_units_int8.clh"
#include "linear/tiled_finish.clh"
}

#include "matmul/tile_units_int8_end.clh"
