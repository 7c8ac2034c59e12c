/* linear/amx.cl - linear with products of bf16 by AMX tiles for several rows of x.
 *
 *   grid    (R/MR, N/64), work-groups of one work-item: MR rows, 32 at a time, by one panel of 64
 *           outputs. Dimension 0 walks the rows, so that consecutive work-groups share a panel in
 *           the cache
 *   scratch the rows of x as weighted/bf16_rows leaves them
 *   adds    over linear/bf16: 512 products an instruction
 *   order   as weighted/amx.clh says: the same bytes for every number of rows
 *   needs   as weighted/amx.clh
 *   build   BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT
 *   tune    MR rows, a multiple of 32
 *   paid    2 cores of Granite Rapids class, pocl 3.1, beside other work, weights in bf16: 128 x 2048 x
 *           2048 at 889 GFLOP/s, where linear/packed has 140 in the same run; 1 x 2048 x 2048 at 25.7
 *           GB/s, where linear/packed_one has 25.6 */
#ifndef MR
#define MR 64
#endif
#include "weighted/amx.clh"
#define BF16_FINISH 1
#include "linear/finish64.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
                    __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
                    int residual_row, int y_row, __global const uchar *scratch)
{
    const int panel = ITEM(1), end = min(SIZE(R), (ITEM(0) + 1) * MR);
    const ulong weights = (ulong)w + (ulong)panel * BF16_PAIRS(K) * BF16_PANEL_PAIR, apart = BF16_ROW_BYTES(K);
    float sum[AMX_ROWS][64] __attribute__((aligned(64)));
    if (panel * 64 >= N)
        return;
    for (int m = ITEM(0) * MR; m < end; m += AMX_ROWS) {
        const int rows = min(end - m, AMX_ROWS);
        tsr_amx_begin(rows);
        tsr_amx_sum(weights, (ulong)sum, BF16_PAIRS(K) / 16, (ulong)scratch + (ulong)m * apart, apart, rows);
        tsr_amx_end();
        for (int r = 0; r < rows; r++)
            LOCAL_NAME(finish)
            (sum[r], bias + bias0, residual + residual0 + (m + r) * residual_row, y + y0 + (m + r) * y_row, panel * 64, N);
    }
}

#undef BF16_FINISH
#undef MR
