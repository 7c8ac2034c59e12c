/* linear/vnni.cl - linear with int8 products for several rows of x, on CPUs with AVX512-VNNI.
 *
 *   grid    (R/MR, N/64), work-groups of one work-item: MR rows, three at a time, by one panel of
 *           64 outputs. Dimension 0 walks the rows, so that consecutive work-groups share a panel
 *           in the cache
 *   scratch the rows of x as linear/vnni_rows leaves them
 *   adds    over linear/blocks: products by vpdpbusd; x is quantised once, by a stage, not for each
 *           panel
 *   order   as linear/plain: the same bytes
 *   needs   as weighted/vnni.clh
 *   build   W_DTYPE, BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT
 *           FEW (vnni_few): all rows are in one work-item. A few blocks of the weights are used by
 *           all of them while the next are prefetched
 *   tune    MR rows; FEW up to 9
 *   paid    Gop/s on 2 cores (940 in registers), quantising x included; the tile alone has 836:
 *
 *           512x768x768   512x3072x768   512x768x3072   128x4096x4096   1024^3
 *           711           738            734            762             720
 *
 *           Without prefetching y 2 % less; with weights prefetched 4 KiB ahead here too, 1 to 5 %
 *           less. FEW, 8 rows by 4096 by 65536: 1.3 times the time of one row with q8; 1.9 with q4,
 *           where the tile is the limit */
#ifndef MR
#define MR 24
#endif
#include "weighted/vnni_tile.clh"
#include "linear/finish64.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const uchar *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
                    __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
                    int residual_row, int y_row, __global const uchar *scratch)
{
    const int panel = ITEM(1), m = ITEM(0) * MR, rows = min(SIZE(R) - m, MR);
    float sum[MR + 1][64] __attribute__((aligned(64)));
    if (rows <= 0 || panel * 64 >= N)
        return;
    __global const uchar *packed = scratch + (size_t)m * VNNI_ROW_BYTES(K);
    for (int r = 0; r < rows; r++)
        tsr_vnni_expect((ulong)(y + y0 + (m + r) * y_row + panel * 64));
    LOCAL_NAME(tile)(packed, w + (size_t)panel * (K / 32) * SMALL_BLOCK(W_DTYPE), K, rows, sum);
    for (int r = 0; r < rows; r++)
        LOCAL_NAME(finish)
        (sum[r], bias + bias0, residual + residual0 + (m + r) * residual_row, y + y0 + (m + r) * y_row, panel * 64, N);
}

#undef MR
#undef BLOCKS
