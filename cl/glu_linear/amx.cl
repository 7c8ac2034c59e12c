/* glu_linear/amx.cl - glu_linear with products of bf16 by AMX tiles for several rows of x.
 *
 *   grid    (R/MR, F/64), work-groups of one work-item: MR rows, 32 at a time, by 64 outputs: a panel
 *           of gates and one of ups
 *   scratch the rows of x as weighted/bf16_rows leaves them
 *   adds    over glu_linear/bf16: as linear/amx over linear/bf16
 *   order   as linear/amx
 *   needs   as weighted/amx.clh; F a multiple of 64
 *   build   BIAS_DTYPE; HAS_BIAS; ACT
 *   tune    MR rows, a multiple of 32
 *   paid    as linear/amx says */
#ifndef MR
#define MR 64
#endif
#include "weighted/amx.clh"
#define BF16_FINISH 1
#include "glu_linear/finish64.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
                    __global const int *dims, int R, int R_set, int F, int K, int x_row, int y_row,
                    __global const uchar *scratch)
{
    const int panel = ITEM(1), end = min(SIZE(R), (ITEM(0) + 1) * MR);
    const ulong apart = BF16_ROW_BYTES(K), bytes = (ulong)BF16_PAIRS(K) * BF16_PANEL_PAIR;
    float sum[2][AMX_ROWS][64] __attribute__((aligned(64)));
    if (panel * 64 >= F)
        return;
    for (int m = ITEM(0) * MR; m < end; m += AMX_ROWS) {
        const int rows = min(end - m, AMX_ROWS);
        const ulong from = (ulong)scratch + (ulong)m * apart;
        tsr_amx_begin(rows);
        for (int part = 0; part < 2; part++)
            tsr_amx_sum((ulong)w + (panel + part * (F / 64)) * bytes, (ulong)sum[part], BF16_PAIRS(K) / 16, from, apart, rows);
        tsr_amx_end();
        for (int r = 0; r < rows; r++)
            LOCAL_NAME(finish)(sum[0][r], sum[1][r], bias + bias0, y + y0 + (m + r) * y_row, panel * 64, F);
    }
}

#undef BF16_FINISH
#undef MR
