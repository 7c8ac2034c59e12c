/* linear/packed.cl - y[r,n] = act(sum_k x[r,k] w[k,n] + bias[n]) + residual[r,n] on CPUs, from a weight in panels.
 *
 *   grid    (R/MR, N/64), work-groups of one: MR rows by one panel of 64 outputs, over all of K. Dimension 0 walks the
 *           rows, so that consecutive work-groups share a panel in the cache
 *   x[r,k]  at x0 + r*x_row + k, read as broadcast scalars; y and residual likewise
 *   w[k,n]  at (n/64 * K + k) * 64 + n%64; aligned to 64 bytes, outputs past N are zero
 *   adds    the chains of linear/plain, k upwards: the same sums
 *   needs   float16 in registers (a CPU); aligned pointers: pocl 3.1 compiles vload16 into four moves and extracts
 *   build   W_DTYPE, BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT
 *   tune    MR 1..7 rows a work-item: 4 * MR accumulators, 4 weights and a scalar in 32 registers
 *   paid    as a packed GEMM of this tile: 329 GFLOP/s at 1024^3 of 430 peak on 2 AVX-512 cores, 8x48 308, 12x32 306;
 *           with the axes swapped 236; as a GEMV over the same panels 33 GB/s of 30-33 read bandwidth
 *   source  Van Zee, van de Geijn 2015, BLIS, doi:10.1145/2764454 (the panels) */
#ifndef MR
#define MR 6
#endif

#include "linear/finish64.clh"

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
KERNEL(__global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
       __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
       __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row, int residual_row,
       int y_row)
{
    const int rows = SIZE(R), panels = (N + 63) / 64;
    const int m = (int)get_global_id(0) * MR, panel = (int)get_global_id(1);
    if (m >= rows || panel >= panels)
        return;

    if (MR > 4 && rows - m <= 4) { /* what is left over: 16 rows are 6, 6 and 4 */
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
#undef W_DTYPE
#undef BIAS_DTYPE
#undef HAS_BIAS
#undef HAS_RESIDUAL
#undef ACT
