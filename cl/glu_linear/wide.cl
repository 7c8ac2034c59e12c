/* glu_linear/wide.cl - y[r,f] = act(x w_gate + bias_gate) * (x w_up + bias_up) on CPUs, from a weight of
 * wide blocks in panels.
 *
 *   grid    (R/MR, F/64), work-groups of one work-item: MR rows by one panel of gates and one of the
 *           others, over all of K
 *   operands, needs, build, tune as linear/wide, without a residual
 *   order   as glu_linear/plain: the same bytes */
#ifndef MR
#define MR 3
#endif
#if VNNI
#include "weighted/wide_vnni.clh"
#else
#include "weighted/wide_float.clh"
#endif
#include "glu_linear/finish64.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
                    __global const int *dims, int R, int R_set, int F, int K, int x_row, int y_row
#if VNNI
                    ,
                    __global const uchar *scratch
#endif
)
{
    const int all = SIZE(R), m = ITEM(0) * MR, panel = ITEM(1), rows = min(all - m, MR);
    if (rows <= 0 || panel * 64 >= F)
        return;
    const size_t panel_bytes = WIDE_PANEL(W_DTYPE, K);
#if VNNI
    float sum[2][MR][64] __attribute__((aligned(64)));
    for (int part = 0; part < 2; part++)
        LOCAL_NAME(tile)
        (scratch + (size_t)m * WIDE_ROW_BYTES(W_DTYPE, K), w + (panel + part * (F / 64)) * panel_bytes, K, rows, sum[part]);
#else
    __global const float *left[MR];
    float16 sum[2][MR][4];
#pragma unroll
    for (int r = 0; r < MR; r++)
        left[r] = x + x0 + min(m + r, all - 1) * x_row;
    for (int part = 0; part < 2; part++)
        LOCAL_NAME(tile)(left, w + (panel + part * (F / 64)) * panel_bytes, K, sum[part]);
#endif
    for (int r = 0; r < rows; r++)
        LOCAL_NAME(finish)
        ((const float *)sum[0][r], (const float *)sum[1][r], bias + bias0, y + y0 + (m + r) * y_row, panel * 64, F);
}

#undef MR
