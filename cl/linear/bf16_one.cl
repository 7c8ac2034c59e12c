/* linear/bf16_one.cl - linear with products of bf16 for one row of x, on CPUs with AVX512-BF16.
 *
 *   grid    (N/64/P), work-groups of one work-item: P panels of 64 outputs each, for which x is
 *           rounded once
 *   operands as linear/bf16
 *   adds    over linear/bf16: no stage before it, because the work-item rounds x
 *   order   as linear/bf16: the same bytes
 *   needs   as weighted/bf16.clh
 *   build   BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT
 *   paid    as linear/bf16 says */
#include "weighted/bf16.clh"
#define BF16_FINISH 1
#include "linear/finish64.clh"

#define DEPTH 4096 /* inputs rounded at a time */
#define MOST 4     /* panels */

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
                    __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
                    int residual_row, int y_row, int P)
{
    const int panels = (N + 63) / 64, first = ITEM(0) * P, count = min(P, panels - first);
    uchar whole[BF16_ROW_BYTES(DEPTH)] __attribute__((aligned(64)));
    float sum[MOST][64] __attribute__((aligned(64)));
    if (count <= 0 || SIZE(R) <= 0)
        return;
    for (int i = 0; i < count * 4; i++)
        ((float16 *)sum)[i] = 0.0f;
    for (int k = 0; k < K; k += DEPTH) {
        const int depth = min(DEPTH, K - k);
        tsr_bf16_row(x + x0 + k, depth, (ulong)whole);
        for (int p = 0; p < count; p++)
            tsr_bf16_add_ahead1((ulong)w + (ulong)((first + p) * BF16_PAIRS(K) + k / 2) * BF16_PANEL_PAIR, (ulong)sum[p],
                                BF16_PAIRS(depth), (ulong)whole, 0);
    }
    for (int p = 0; p < count; p++)
        LOCAL_NAME(finish)(sum[p], bias + bias0, residual + residual0, y + y0, (first + p) * 64, N);
}

#undef BF16_FINISH
#undef DEPTH
#undef MOST
