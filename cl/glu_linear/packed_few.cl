/* glu_linear/packed_few.cl - glu_linear/packed for a few rows of x.
 *
 *   grid    (R/8, F/64), work-groups of one work-item: up to 8 rows by a panel of gates and that of
 *           their ups. Dimension 0 walks the rows
 *   operands, order, needs, build as glu_linear/packed
 *   adds    over glu_linear/packed: the weight is read from memory once for eight rows
 *           (weighted/few.clh)
 *   paid    2 Zen 4 cores, pocl, medians in ms of the run of linear/packed_few:
 *
 *                           f32: 4 rows   8 rows       f16: 4 rows   8 rows
 *           packed               13.3     17-19             6.8-7.5  10-13
 *           packed_few           5.3      8.1-8.8           3.2-3.6  5.8
 *
 *           Failed: gates and ups apart with 8 rows, 12.4 in an earlier run that had 7.1 */
#include "elementwise/math16.clh"
#define PANELS 2 /* gates and ups */

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
                    __global const int *dims, int R, int R_set, int F, int K, int x_row, int y_row)
{
    const int rows = SIZE(R), top = ITEM(0) * 8, panel = ITEM(1);
    if (top >= rows || panel * 64 >= F)
        return;

    __global const ELEMENT(W_DTYPE) *right[PANELS] = {w + w0 + panel * K * 64, w + w0 + (panel + F / 64) * K * 64};
#include "weighted/few_rows.clh"

    for (int m = top; m < min(top + 8, rows); m++)
        for (int j = 0; j < 4; j++) {
            const int n = panel * 64 + j * 16;
            float16 g = done[m - top][j], u = done[m - top][4 + j];
#include "glu_linear/finish.clh"
        }
}

#undef PANELS
