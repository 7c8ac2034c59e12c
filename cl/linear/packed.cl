/* linear/packed.cl - y[r,n] = act(sum_k x[r,k] w[k,n] + bias[n]) + residual[r,n] on CPUs, from a
 * weight in panels.
 *
 *   grid    (R/MR, N/64), work-groups of one work-item: MR rows by one panel of 64 outputs, over
 *           all of K. Dimension 0 walks the rows, so that consecutive work-groups share a panel in
 *           the cache
 *   x[r,k]  at x0 + r*x_row + k, read as broadcast scalars; y and residual likewise
 *   w[k,n]  at (n/64 * K + k) * 64 + n%64; aligned to 64 bytes, outputs past N are zero
 *   adds    over linear/cached: the weight lies packed, so no work-item packs it
 *   order   as linear/plain, ascending k: the same bytes
 *   needs   float16 in registers (a CPU). Loads go through aligned pointers, because pocl 3.1
 *           compiles vload16 to four moves and extracts
 *   build   W_DTYPE, BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT
 *   tune    MR 1..7 rows of a work-item: 4 * MR sums, 4 vectors of weights and a scalar in 32
 *           registers
 *   paid    on 2 Zen 4 cores, pocl 3.1: 211 to 219 GFLOP/s of 236 in registers
 *           (docs/performance.md). MR 1 to 7 were tried on pocl and on Intel's runtime: nothing
 *           gained 2 % over 6
 *
 *           Tiles of a packed GEMM, GFLOP/s on 2 cores of Sapphire Rapids class, 430 in registers,
 *           pocl 3.1:
 *                                            1024^3  2048^3  512x3072  512x768  128x4096
 *           tile                                             x768      x3072    x4096
 *           6x64                             329     328     323       328      252
 *           8x48                             308     321     311       310      244
 *           12x32                            306     316     303       308      237
 *           14x32, prefetching 512 bytes     318     322     300       316      264
 *           7x64, stores by vstore16         279     273     261       249      213
 *           12x32, axes of the grid swapped  236     224     207       222      147
 *
 *           As a GEMV over the same panels 33 GB/s, where reading alone has 30 to 33. Storing full
 *           tiles by the function for partial ones cost 213 to 209 GFLOP/s
 *   source  Van Zee, van de Geijn 2015, BLIS, doi:10.1145/2764454 (the panels) */
#ifndef MR
#define MR 6
#endif

#include "linear/finish64.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
                    __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
                    int residual_row, int y_row)
{
    const int rows = SIZE(R), panels = (N + 63) / 64;
    const int m = ITEM(0) * MR, panel = ITEM(1);
    if (m >= rows || panel >= panels)
        return;

    if (MR > 4 && rows - m <= 4) { /* the rows left over: 16 are 6, 6 and 4 */
#define TILE 4
#include "linear/packed_tile.clh"
#undef TILE
    } else {
#define TILE MR
#include "linear/packed_tile.clh"
#undef TILE
    }
}

#undef MR
