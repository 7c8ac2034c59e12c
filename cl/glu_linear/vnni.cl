/* glu_linear/vnni.cl - glu_linear with int8 products for several rows of x, on CPUs with
 * AVX512-VNNI.
 *
 *   grid    (R/MR, F/64), work-groups of one work-item: MR rows by 64 outputs: a panel of gates,
 *           then its panel of ups
 *   scratch the rows of x as linear/vnni_rows leaves them
 *   adds    over glu_linear/blocks: what linear/vnni adds over linear/blocks
 *   order   as glu_linear/plain: the same bytes
 *   needs   as weighted/vnni.clh; F a multiple of 64
 *   build   W_DTYPE, BIAS_DTYPE; HAS_BIAS; ACT; FEW (vnni_few): all rows are in one work-item
 *   tune    MR rows; FEW up to 9
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as blocks. The figures include quantising x.
 *
 *                                            pocl                      Intel
 *           variant           us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           M=1 K=768 F=2048 q8_0 w' act 4 int8
 *           blocks          72.0     87.4    1.00      81.7     77.0    1.00
 *           vnni            19.8    317.0    3.63      20.5    307.1    3.99
 *
 *           M=1 K=768 F=2048 q4_0 w' act 4 int8
 *           blocks          72.6     86.7    1.00      94.0     67.0    1.00
 *           vnni            14.2    442.7    5.11      13.0    482.5    7.21
 *
 *           M=128 K=768 F=2048 q8_0 w' act 4 int8
 *           blocks          3166    254.4    1.00      3402    236.7    1.00
 *           vnni           571.9   1408.2    5.54     535.6   1503.6    6.35
 *
 *           M=128 K=768 F=2048 q4_0 w' act 4 int8
 *           blocks          3162    254.7    1.00      4039    199.4    1.00
 *           vnni           531.9   1514.0    5.95     501.4   1606.3    8.06 */
#ifndef MR
#define MR 24
#endif
#include "weighted/vnni_tile.clh"
#include "glu_linear/finish64.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
                    __global const int *dims, int R, int R_set, int F, int K, int x_row, int y_row,
                    __global const uchar *scratch)
{
    const int panel = ITEM(1), m = ITEM(0) * MR, rows = min(SIZE(R) - m, MR);
    float sum[2][MR + 1][64] __attribute__((aligned(64)));
    if (rows <= 0 || panel * 64 >= F)
        return;
    __global const uchar *packed = scratch + (size_t)m * VNNI_ROW_BYTES(K);
    for (int r = 0; r < rows; r++)
        tsr_vnni_expect((ulong)(y + y0 + (m + r) * y_row + panel * 64));
    for (int part = 0; part < 2; part++)
        LOCAL_NAME(tile)
        (packed, w + (size_t)(panel + part * (F / 64)) * (K / 32) * SMALL_BLOCK(W_DTYPE), K, rows, sum[part]);
    for (int r = 0; r < rows; r++)
        LOCAL_NAME(finish)
        (sum[0][r], sum[1][r], bias + bias0, y + y0 + (m + r) * y_row, panel * 64, F);
}

#undef MR
#undef BLOCKS
