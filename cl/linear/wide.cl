/* linear/wide.cl - y[r,n] = act(sum_k x[r,k] w[k,n] + bias[n]) + residual[r,n] on CPUs, from a weight of
 * wide blocks in panels, whose numbers are made wide once for all rows of a work-item.
 *
 *   grid    (R/MR, N/64), work-groups of one work-item: MR rows by one panel of 64 outputs, over
 *           all of K. Dimension 0 walks the rows, so that consecutive work-groups share a panel in the
 *           cache
 *   x[r,k]  at x0 + r*x_row + k; y and residual likewise; with VNNI rows of x are read from scratch
 *   w       in panels, as weighted/wide.clh says
 *   adds    over linear/plain: panels and float16 lanes; with VNNI, int8 products by vpdpbusd
 *   order   as linear/plain: the same bytes
 *   needs   float16 in registers (a CPU); with VNNI as weighted/wide_vnni.clh
 *   build   W_DTYPE, BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT; VNNI; without it INT8
 *   tune    MR rows of a work-item */
#ifndef MR
#define MR 3
#endif
#if VNNI
#include "weighted/wide_vnni.clh"
#else
#include "weighted/wide_float.clh"
#endif
#include "linear/finish64.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
                    __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
                    int residual_row, int y_row
#if VNNI
                    ,
                    __global const uchar *scratch
#endif
)
{
    const int all = SIZE(R), m = ITEM(0) * MR, panel = ITEM(1), rows = min(all - m, MR);
    if (rows <= 0 || panel * 64 >= N)
        return;
    __global const uchar *right = w + (size_t)panel * WIDE_PANEL(W_DTYPE, K);
#if VNNI
    float sum[MR][64] __attribute__((aligned(64)));
    LOCAL_NAME(tile)(scratch + (size_t)m * WIDE_ROW_BYTES(W_DTYPE, K), right, K, rows, sum);
#else
    __global const float *left[MR];
    float16 sum[MR][4];
#pragma unroll
    for (int r = 0; r < MR; r++)
        left[r] = x + x0 + min(m + r, all - 1) * x_row;
    LOCAL_NAME(tile)(left, right, K, sum);
#endif
    for (int r = 0; r < rows; r++)
        LOCAL_NAME(finish)
        ((const float *)sum[r], bias + bias0, residual + residual0 + (m + r) * residual_row,
         y + y0 + (m + r) * y_row, panel * 64, N);
}

#undef MR
