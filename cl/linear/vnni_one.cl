/* linear/vnni_one.cl - linear with int8 products for one row of x, on CPUs with AVX512-VNNI.
 *
 *   grid    (N/64/P), work-groups of one work-item: P panels of 64 outputs each, for which x is
 *           quantised once
 *   operands as linear/blocks
 *   adds    over linear/vnni: no stage before it, because the work-item quantises x
 *   order   as linear/plain: the same bytes
 *   needs   as weighted/vnni.clh
 *   build   W_DTYPE, BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT
 *   paid    1 x 4096 x 65536 on 2 cores: 42 to 44 GB/s of q8 and q4, where a plain read had
 *           36 to 40. Failed: a stage that quantises x, 3 us a launch; quantising x for each panel,
 *           2 % */
#include "weighted/vnni.clh"
#include "linear/finish64.clh"

#define DEPTH 4096 /* inputs quantised at a time */
#define MOST 4     /* panels */

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
                    __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
                    int residual_row, int y_row, int P)
{
    const int panels = (N + 63) / 64, first = ITEM(0) * P, count = min(P, panels - first);
    uchar whole[VNNI_ROW_BYTES(DEPTH)] __attribute__((aligned(64)));
    float sum[MOST][64] __attribute__((aligned(64)));
    if (count <= 0 || SIZE(R) <= 0)
        return;
    for (int i = 0; i < count * 4; i++)
        ((float16 *)sum)[i] = 0.0f;
    for (int k = 0; k < K; k += DEPTH) {
        const int blocks = min(DEPTH, K - k) / 32;
        tsr_vnni_quantise(x + x0 + k, blocks, (ulong)whole, VNNI_OFFSET(W_DTYPE));
        for (int p = 0; p < count; p++)
            TSR_PASTE(tsr_vnni_one_, W_DTYPE)
            ((ulong)w + (ulong)((first + p) * (K / 32) + k / 32) * SMALL_BLOCK(W_DTYPE), (ulong)sum[p], (ulong)blocks, (ulong)whole);
    }
    for (int p = 0; p < count; p++)
        LOCAL_NAME(finish)(sum[p], bias + bias0, residual + residual0, y + y0, (first + p) * 64, N);
}

#undef DEPTH
#undef MOST
