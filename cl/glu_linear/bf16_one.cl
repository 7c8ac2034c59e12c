/* glu_linear/bf16_one.cl - glu_linear with products of bf16 for one row of x, on CPUs with
 * AVX512-BF16.
 *
 *   grid    (F/64/P), work-groups of one work-item: P times 64 outputs each, for which x is rounded
 *           once
 *   operands as glu_linear/bf16
 *   adds    over glu_linear/bf16: no stage before it, because the work-item rounds x
 *   order   as linear/bf16: the same bytes
 *   needs   as weighted/bf16.clh; F a multiple of 64
 *   build   BIAS_DTYPE; HAS_BIAS; ACT
 *   paid    as linear/bf16 says */
#include "weighted/bf16.clh"
#define BF16_FINISH 1
#include "glu_linear/finish64.clh"

#define DEPTH 4096 /* inputs rounded at a time */
#define MOST 4     /* panels of gates, and as many of ups */

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
                    __global const int *dims, int R, int R_set, int F, int K, int x_row, int y_row, int P)
{
    const int panels = F / 64, first = ITEM(0) * P, count = min(P, panels - first);
    uchar whole[BF16_ROW_BYTES(DEPTH)] __attribute__((aligned(64)));
    float sum[2][MOST][64] __attribute__((aligned(64)));
    if (count <= 0 || SIZE(R) <= 0)
        return;
    for (int i = 0; i < 2 * MOST * 4; i++)
        ((float16 *)sum)[i] = 0.0f;
    for (int k = 0; k < K; k += DEPTH) {
        const int depth = min(DEPTH, K - k);
        tsr_bf16_row(x + x0 + k, depth, (ulong)whole);
        for (int p = 0; p < count * 2; p++)
            tsr_bf16_add_ahead1((ulong)w + (ulong)((first + p / 2 + p % 2 * panels) * BF16_PAIRS(K) + k / 2) * BF16_PANEL_PAIR,
                                (ulong)sum[p % 2][p / 2], BF16_PAIRS(depth), (ulong)whole, 0);
    }
    for (int p = 0; p < count; p++)
        LOCAL_NAME(finish)(sum[0][p], sum[1][p], bias + bias0, y + y0, (first + p) * 64, F);
}

#undef BF16_FINISH
#undef DEPTH
#undef MOST
