/* glu_linear/vnni_one.cl - glu_linear with int8 products for one row of x, on CPUs with
 * AVX512-VNNI.
 *
 *   grid    (F/64/P), work-groups of one work-item: P times 64 outputs each, for which x is
 *           quantised once
 *   operands as glu_linear/blocks
 *   adds    over glu_linear/vnni: no stage before it, because the work-item quantises x
 *   order   as glu_linear/plain: the same bytes
 *   needs   as weighted/vnni.clh; F a multiple of 64
 *   build   W_DTYPE, BIAS_DTYPE; HAS_BIAS; ACT
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as vnni. The figures include quantising x.
 *
 *                                             pocl                      Intel
 *           variant            us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           M=1 K=768 F=2048 q8_0 w' act 4 int8
 *           vnni             19.8    317.0    1.00      20.5    307.1    1.00
 *           vnni_one         18.7    337.1    1.06      19.5    322.7    1.05
 *
 *           M=1 K=768 F=2048 q4_0 w' act 4 int8
 *           vnni             14.2    442.7    1.00      13.0    482.5    1.00
 *           vnni_one         12.2    516.6    1.17      11.5    549.1    1.14 */
#include "weighted/vnni.clh"
#include "glu_linear/finish64.clh"

#define DEPTH 4096 /* inputs quantised at a time */
#define MOST 4     /* panels of gates, and as many of ups */

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
                    __global const int *dims, int R, int R_set, int F, int K, int x_row, int y_row, int P)
{
    const int panels = F / 64, first = ITEM(0) * P, count = min(P, panels - first);
    uchar whole[VNNI_ROW_BYTES(DEPTH)] __attribute__((aligned(64)));
    float sum[2][MOST][64] __attribute__((aligned(64)));
    if (count <= 0 || SIZE(R) <= 0)
        return;
    for (int i = 0; i < 2 * MOST * 4; i++)
        ((float16 *)sum)[i] = 0.0f;
    for (int k = 0; k < K; k += DEPTH) {
        const int blocks = min(DEPTH, K - k) / 32;
        tsr_vnni_quantise(x + x0 + k, blocks, (ulong)whole, VNNI_OFFSET(W_DTYPE));
        for (int p = 0; p < count * 2; p++)
            TSR_PASTE(tsr_vnni_one_, W_DTYPE)
            ((ulong)w + (ulong)((first + p / 2 + p % 2 * panels) * (K / 32) + k / 32) * SMALL_BLOCK(W_DTYPE),
             (ulong)sum[p % 2][p / 2], (ulong)blocks, (ulong)whole);
    }
    for (int p = 0; p < count; p++)
        LOCAL_NAME(finish)(sum[0][p], sum[1][p], bias + bias0, y + y0, (first + p) * 64, F);
}

#undef DEPTH
#undef MOST
