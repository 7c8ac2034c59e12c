/* linear/blocks.cl - y[r,n] = act(sum_k x[r,k] w[k,n] + bias[n]) + residual[r,n] on CPUs, from a
 * weight of blocks in panels.
 *
 *   grid    (R/MR, N/64), work-groups of one work-item: MR rows by one panel of 64 outputs, over
 *           all of K
 *   x[r,k]  at x0 + r*x_row + k; y and residual likewise
 *   w       in panels, as weighted/vnni.clh says
 *   adds    over linear/plain: panels and float16 lanes
 *   order   as linear/plain: the same bytes
 *   needs   float16 in registers (a CPU), no special instruction: linear/vnni is used where a probe
 *           allows it
 *   build   W_DTYPE, BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT; INT8
 *   tune    MR 1..6 rows of a work-item
 *   paid    see weighted/blocks.clh */
#include "weighted/blocks.clh"
#include "linear/finish64.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
                    __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
                    int residual_row, int y_row)
{
    const int rows = SIZE(R), m = ITEM(0) * MR, panel = ITEM(1);
    if (m >= rows || panel * 64 >= N)
        return;
#include "weighted/blocks_rows.clh"
    float16 sum[MR][4];
    LOCAL_NAME(tile)(left, w + (size_t)panel * (K / 32) * SMALL_BLOCK(W_DTYPE), K, sum);
    for (int r = 0; r < MR && m + r < rows; r++)
        LOCAL_NAME(finish)
        ((const float *)sum[r], bias + bias0, residual + residual0 + (m + r) * residual_row,
         y + y0 + (m + r) * y_row, panel * 64, N);
}

#undef MR
#undef GROUPS
#undef OFFSET
