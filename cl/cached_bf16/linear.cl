/* cached_bf16/linear.cl - y[r,n] = act(sum_k x[r,k] w[k,n] + bias[n]) + residual[r,n] with products of
 * bf16, on CPUs with AVX512-BF16, from a weight in plain rows: one that is trained.
 *
 *   grid    (R/each, N/64), work-groups of one work-item
 *   x       scratch has its rows as cached_bf16/rows leaves them; y and residual as linear/cached
 *   w       w[n,k] at w0 + n*K + k where TRANS_W, else w[k,n] at w0 + k*N + n
 *   adds    over linear/cached: what cached_bf16/matmul adds over matmul/cached
 *   order   as weighted/bf16.clh says: the bytes of linear/bf16
 *   needs   as cached_bf16/matmul
 *   build   W_DTYPE, BIAS_DTYPE; TRANS_W, HAS_BIAS, HAS_RESIDUAL; ACT
 *   tune    PAIRS as cached_bf16/matmul
 *   paid    "a b'" in the table of cached_bf16/matmul.cl, as a training's forward pass */
#ifndef PAIRS
#define PAIRS 512
#endif
#define B_DTYPE W_DTYPE
#include "weighted/bf16.clh"
#include "cached_bf16/pack.clh"
#define BF16_FINISH 1
#include "linear/finish64.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const ELEMENT(W_DTYPE) *w, int w0, __global const ELEMENT(BIAS_DTYPE) *bias, int bias0,
                    __global const float *residual, int residual0, __global float *y, int y0, __global const uchar *scratch,
                    __global const int *dims, int R, int R_set, int N, int K, int residual_row, int y_row, int each)
{
    const int depth = K, columns = N, first = ITEM(0) * each, end = min(first + each, SIZE(R)), n = ITEM(1) * 64;
    if (first >= end || n >= N)
        return;
#if TRANS_W
    const int b_right = K, b_down = 1;
#else
    const int b_right = 1, b_down = N;
#endif
    __global const ELEMENT(W_DTYPE) *b = w + w0;
#define FINISH                                                                                             \
    LOCAL_NAME(finish)                                                                                     \
    (sum, bias + bias0, residual + residual0 + m * residual_row, y + y0 + m * y_row, n, N);
#include "cached_bf16/product.clh"
#undef FINISH
}

#undef BF16_FINISH
#undef PAIRS
#undef B_DTYPE
