/* linear/bf16.cl - linear with products of bf16 for several rows of x, on CPUs with AVX512-BF16.
 *
 *   grid    (R/MR, N/64), work-groups of one work-item: MR rows, six at a time, by one panel of 64
 *           outputs. Dimension 0 walks the rows, so that consecutive work-groups share a panel in
 *           the cache
 *   scratch the rows of x as weighted/bf16_rows leaves them
 *   adds    over linear/packed: two products an instruction; x and w are half as long
 *   order   as weighted/bf16.clh says: the same bytes for every number of rows
 *   needs   as weighted/bf16.clh
 *   build   BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT
 *           FEW (bf16_few): all rows are in one work-item
 *   tune    MR rows; FEW up to 9
 *   paid    prompts of 512 tokens of llama-110m on 2 Zen 4 cores, pocl 3.1: 2146 tokens/s, where
 *           linear/packed had 1103 to 1184 on other days (docs/performance.md). On a Granite Rapids
 *           the instruction has the rate of f32, and the probe refuses it */
#ifndef MR
#define MR 24
#endif
#include "weighted/bf16_tile.clh"
#define BF16_FINISH 1
#include "linear/finish64.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
                    __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
                    int residual_row, int y_row, __global const uchar *scratch)
{
    const int panel = ITEM(1), m = ITEM(0) * MR, rows = min(SIZE(R) - m, MR);
    float sum[MR][64] __attribute__((aligned(64)));
    if (rows <= 0 || panel * 64 >= N)
        return;
    for (int r = 0; r < rows; r++)
        tsr_bf16_expect((ulong)(y + y0 + (m + r) * y_row + panel * 64));
    LOCAL_NAME(tile)
    (scratch + (size_t)m * BF16_ROW_BYTES(K), w + (size_t)panel * BF16_PAIRS(K) * BF16_PANEL_PAIR, K, rows, sum);
    for (int r = 0; r < rows; r++)
        LOCAL_NAME(finish)
        (sum[r], bias + bias0, residual + residual0 + (m + r) * residual_row, y + y0 + (m + r) * y_row, panel * 64, N);
}

#undef BF16_FINISH
#undef MR
