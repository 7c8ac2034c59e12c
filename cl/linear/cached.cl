/* linear/cached.cl - y[r,n] = act(sum_k x[r,k] w[k,n] + bias[n]) + residual[r,n] on CPUs, from a
 * weight in plain rows: one that is trained.
 *
 *   grid    (R/each, N/64), work-groups of one work-item: `each` rows (at most ROWS) by 64 outputs,
 *           over all of K
 *   x[r,k]  at x0 + r*x_row + k; y and residual likewise
 *   w       w[n,k] at w0 + n*K + k where TRANS_W, else w[k,n] at w0 + k*N + n
 *   adds    over linear/plain: what matmul/cached adds over matmul/plain
 *   order   as linear/plain, ascending k: the same bytes
 *   needs   float16 in registers (a CPU), 132 KiB of private memory
 *   build   W_DTYPE, BIAS_DTYPE; TRANS_W, HAS_BIAS, HAS_RESIDUAL; ACT
 *   tune    MR, KC as matmul/cached
 *   paid    "forward" in the table of matmul/cached.cl: 179-215 GFLOP/s of 236, plain 13-16 */
#define A_DTYPE TSR_DTYPE_F32
#define B_DTYPE W_DTYPE
#define TRANS_A 0
#include "linear/finish64.clh"
#include "matmul/cached_pack.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
                    __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
                    int residual_row, int y_row, int each)
{
    const int rows = SIZE(R), depth = K, am = x_row, ak = 1;
    const int first = ITEM(0) * each, end = min(first + each, rows), n = ITEM(1) * 64;
    if (first >= rows || n >= N)
        return;
#if TRANS_W
    const int bn = K, bk = 1;
#else
    const int bn = 1, bk = N;
#endif
    __global const float *a = x + x0;
    __global const ELEMENT(W_DTYPE) *b = w + w0;
#include "matmul/cached.clh"

    for (int m = first; m < end; m++)
        LOCAL_NAME(finish)
        ((const float *)(sums + (m - first) * 4), bias + bias0, residual + residual0 + m * residual_row,
         y + y0 + m * y_row, n, N);
}

#undef MR
#undef KC
#undef PACK16
#undef A_DTYPE
#undef B_DTYPE
#undef TRANS_A
