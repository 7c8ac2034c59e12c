/* glu_linear/blocks.cl - y[r,f] = act(x w_gate + bias_gate) * (x w_up + bias_up) on CPUs, from a
 * weight of blocks in panels.
 *
 *   grid    (R/MR, F/64), work-groups of one work-item: MR rows by 64 outputs: a panel of gates,
 *           then its panel of ups
 *   x[r,k]  at x0 + r*x_row + k; y likewise
 *   w       has 2F outputs, gates first, in panels as weighted/vnni.clh says; F is a multiple of 64
 *   adds    over glu_linear/plain: panels and float16 lanes, as linear/blocks
 *   order   as glu_linear/plain: the same bytes
 *   needs   float16 in registers (a CPU)
 *   build   W_DTYPE, BIAS_DTYPE; HAS_BIAS; ACT; INT8
 *   tune    MR 1..6 rows of a work-item
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           M=1 K=768 F=2048 q8_0 w' act 4
 *           plain           3554      1.8    1.00      1292      4.9    1.00
 *           blocks          69.1     91.0   51.41      56.1    112.1   23.03
 *
 *           M=1 K=768 F=2048 q4_0 w' act 4
 *           plain           3581      1.8    1.00      1275      4.9    1.00
 *           blocks          66.0     95.4   54.28      67.3     93.5   18.95
 *
 *           M=128 K=768 F=2048 q8_0 w' act 4
 *           plain         157598      5.1    1.00     52736     15.3    1.00
 *           blocks          3074    262.0   51.27      2292    351.4   23.01
 *
 *           M=128 K=768 F=2048 q4_0 w' act 4
 *           plain         153658      5.2    1.00     50012     16.1    1.00
 *           blocks          2879    279.8   53.38      2803    287.3   17.85 */
#include "weighted/blocks.clh"
#include "glu_linear/finish64.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
                    __global const int *dims, int R, int R_set, int F, int K, int x_row, int y_row)
{
    const int rows = SIZE(R), m = ITEM(0) * MR, panel = ITEM(1);
    if (m >= rows || panel * 64 >= F)
        return;
#include "weighted/blocks_rows.clh"
    float16 sum[2][MR][4];
    for (int part = 0; part < 2; part++)
        LOCAL_NAME(tile)(left, w + (size_t)(panel + part * (F / 64)) * (K / 32) * SMALL_BLOCK(W_DTYPE), K, sum[part]);
    for (int r = 0; r < MR && m + r < rows; r++)
        LOCAL_NAME(finish)
        ((const float *)sum[0][r], (const float *)sum[1][r], bias + bias0, y + y0 + (m + r) * y_row,
         panel * 64, F);
}

#undef MR
#undef GROUPS
#undef OFFSET
