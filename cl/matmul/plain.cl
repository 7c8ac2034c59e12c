/* matmul/plain.cl - y[m,n] = alpha * sum_k a[m,k] b[k,n] (+ beta * y[m,n]), for every matrix of up
 * to three leading dimensions. The picture and the ladder of matrix products are in
 * linear/plain.cl.
 *
 *   grid    (N/TN, M/TM, matrices), one work-item each: a TM x TN tile; tiles at the edge repeat
 *           the last row and column
 *   a, b, y at any strides, given in elements for the last five dimensions; 0 repeats (broadcast)
 *   order   each output is one sum, formed by fma with ascending k, whatever the tile
 *   needs   nothing beyond OpenCL C 1.1
 *   build   A_DTYPE, B_DTYPE, Y_DTYPE; TRANS_A: a is [..,K,M]; TRANS_B: b is [..,N,K]
 *           ADD: y is a state, which is multiplied by beta first; HAS_BETA: beta[0] is read, else 1
 *           TM rows of a tile: 1 where there is one row, else 4
 *   tune    TN 1..8 columns of a tile: TM * TN independent sums hide the latency of fma
 *   paid    13 to 16 GFLOP/s on 2 Zen 4 cores, of 236 in registers (bench/kernels, products of
 *           training) */
#ifndef TM
#define TM 4
#endif
#ifndef TN
#define TN 4
#endif

ENTRY KERNEL(PLACE __global const ELEMENT(A_DTYPE) *a, int a0, __global const ELEMENT(B_DTYPE) *b, int b0,
             __global ELEMENT(Y_DTYPE) *y, int y0, __global const int *dims, int8 size, int8 size_set, int8 a_step,
             int8 a_set, int8 b_step, int8 b_set, int8 y_step, int8 y_set, int K, int K_set, float alpha
#if ADD
             ,
             __global const float *beta, int beta0
#endif
)
{
    const int M = size.s6 * dims[size_set.s6], N = size.s7 * dims[size_set.s7], depth = SIZE(K);
    const int n = ITEM(0) * TN, m = ITEM(1) * TM;
    const int inner = size.s5 * dims[size_set.s5], middle = size.s4 * dims[size_set.s4];
    const int outer = size.s3 * dims[size_set.s3];
    const int matrix = ITEM(2);
    if (n >= N || m >= M || matrix >= inner * middle * outer)
        return;
#include "matmul/place.clh"

    int row[TM], column[TN];
    float sum[TM][TN];
    for (int r = 0; r < TM; r++) {
        row[r] = min(m + r, M - 1) * am;
        for (int c = 0; c < TN; c++)
            sum[r][c] = 0.0f;
    }
    for (int c = 0; c < TN; c++)
        column[c] = min(n + c, N - 1) * bn;

    for (int k = 0; k < depth; k++) {
        float right[TN];
        for (int c = 0; c < TN; c++)
            right[c] = LOAD(B_DTYPE, b, column[c] + k * bk);
        for (int r = 0; r < TM; r++) {
            const float left = LOAD(A_DTYPE, a, row[r] + k * ak);
            for (int c = 0; c < TN; c++)
                sum[r][c] = fma(left, right[c], sum[r][c]);
        }
    }

#include "matmul/keep.clh"
    for (int r = 0; r < TM; r++)
        for (int c = 0; c < TN; c++)
            if (m + r < M && n + c < N) {
                const int at = (m + r) * y6 + (n + c) * y7;
                STORE(Y_DTYPE, y, at, KEPT(alpha * sum[r][c], LOAD(Y_DTYPE, y, at)));
            }
}

#undef TM
#undef TN
#undef KEPT
