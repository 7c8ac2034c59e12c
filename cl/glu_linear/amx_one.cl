/* glu_linear/amx_one.cl - glu_linear with products of bf16 by AMX tiles for one row of x.
 *
 *   grid    (F/64/P), work-groups of one work-item: P times 64 outputs each, for which x is rounded
 *           once
 *   operands as glu_linear/amx
 *   adds    over glu_linear/amx: no stage before it, because the work-item rounds x
 *   order   as linear/amx: the same bytes
 *   needs   as weighted/amx.clh; F a multiple of 64, K up to 16384
 *   build   BIAS_DTYPE; HAS_BIAS; ACT
 *   paid    as linear/amx says */
#include "weighted/amx.clh"
#define BF16_FINISH 1
#include "glu_linear/finish64.clh"

#define DEPTH 16384 /* the highest K */

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
                    __global const int *dims, int R, int R_set, int F, int K, int x_row, int y_row, int P)
{
    const int panels = F / 64, end = min(panels, (ITEM(0) + 1) * P);
    const ulong bytes = (ulong)BF16_PAIRS(K) * BF16_PANEL_PAIR;
    uchar whole[BF16_ROW_BYTES(DEPTH)] __attribute__((aligned(64)));
    float sum[2][64] __attribute__((aligned(64)));
    if (ITEM(0) * P >= panels || SIZE(R) <= 0)
        return;
    tsr_bf16_row(x + x0, K, (ulong)whole);
    tsr_amx_begin(1);
    for (int panel = ITEM(0) * P; panel < end; panel++) {
        for (int part = 0; part < 2; part++)
            tsr_amx_sum((ulong)w + (panel + part * panels) * bytes, (ulong)sum[part], BF16_PAIRS(K) / 16, (ulong)whole, 0, 1);
        LOCAL_NAME(finish)(sum[0], sum[1], bias + bias0, y + y0, panel * 64, F);
    }
    tsr_amx_end();
}

#undef BF16_FINISH
#undef DEPTH
