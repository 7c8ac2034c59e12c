/* linear/packed_few.cl - linear/packed for a few rows of x.
 *
 *   grid    (R/8, N/64), work-groups of one work-item: up to 8 rows by one panel. Dimension 0 walks
 *           the rows, as in linear/packed
 *   operands, order, needs, build as linear/packed
 *   adds    over linear/packed: the weight is read from memory once for eight rows (weighted/few.clh)
 *   paid    16384x4096 on 2 Zen 4 cores, pocl, medians in ms of one run at 55-60 GB/s:
 *
 *                           f32: 1 row  4 rows  8 rows     f16: 1 row  4 rows  8 rows
 *           packed               4.7    5.0     8.6             2.5    3.9     7.8
 *           packed_few           -      4.6     8.4             -      3.1     5.8
 *
 *           The arithmetic of 8 rows alone takes 4.5. At 35 GB/s 8 rows take 1.3 times the time of
 *           one. Failed, in ms of an earlier run with 7.0 to 8.2 for 8 rows of f32: no prefetch of
 *           the next step 12 to 14, steps of 32 in place of 64 8.4 */
#include "elementwise/math16.clh"
#define PANELS 1

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
                    __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
                    int residual_row, int y_row)
{
    const int rows = SIZE(R), top = ITEM(0) * 8, panel = ITEM(1);
    if (top >= rows || panel * 64 >= N)
        return;

    __global const ELEMENT(W_DTYPE) *right[PANELS] = {w + w0 + panel * K * 64};
#include "weighted/few_rows.clh"

    for (int m = top; m < min(top + 8, rows); m++)
        for (int j = 0; j < 4; j++) {
            const int n = panel * 64 + j * 16;
            float16 v = done[m - top][j];
#include "linear/finish.clh"
        }
}

#undef PANELS
