/* glu_linear/bf16.cl - glu_linear with products of bf16 for several rows of x, on CPUs with
 * AVX512-BF16.
 *
 *   grid    (R/MR, F/64), work-groups of one work-item: MR rows, six at a time, by 64 outputs:
 *           a panel of gates and one of ups
 *   scratch the rows of x as weighted/bf16_rows leaves them
 *   adds    over glu_linear/packed: as linear/bf16 over linear/packed
 *   order   as linear/bf16
 *   needs   as weighted/bf16.clh; F a multiple of 64
 *   build   BIAS_DTYPE; HAS_BIAS; ACT
 *           FEW (bf16_few): all rows are in one work-item
 *   tune    MR rows; FEW up to 9
 *   paid    as linear/bf16 says */
#ifndef MR
#define MR 24
#endif
#include "weighted/bf16_tile.clh"
#define BF16_FINISH 1
#include "glu_linear/finish64.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
                    __global const int *dims, int R, int R_set, int F, int K, int x_row, int y_row,
                    __global const uchar *scratch)
{
    const int panel = ITEM(1), m = ITEM(0) * MR, rows = min(SIZE(R) - m, MR);
    float sum[2][MR][64] __attribute__((aligned(64)));
    if (rows <= 0 || panel * 64 >= F)
        return;
    for (int r = 0; r < rows; r++)
        tsr_bf16_expect((ulong)(y + y0 + (m + r) * y_row + panel * 64));
    for (int part = 0; part < 2; part++)
        LOCAL_NAME(tile)
        (scratch + (size_t)m * BF16_ROW_BYTES(K), w + (size_t)(panel + part * (F / 64)) * BF16_PAIRS(K) * BF16_PANEL_PAIR, K,
         rows, sum[part]);
    for (int r = 0; r < rows; r++)
        LOCAL_NAME(finish)(sum[0][r], sum[1][r], bias + bias0, y + y0 + (m + r) * y_row, panel * 64, F);
}

#undef BF16_FINISH
#undef MR
