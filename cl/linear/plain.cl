/* linear/plain.cl - y[r,n] = act(sum_k x[r,k] w[k,n] + bias[n]) + residual[r,n].
 *
 *   grid    (N/TN, R/TM), one work-item each: a TM x TN tile, whose tails repeat the last row and column
 *   x[r,k]  at x0 + r*x_row + k; y and residual likewise      w[n,k] at w0 + n*K + k where TRANS_W, else w[k,n] at w0 + k*N + n
 *           blocks of q8_0 or q4_0: element n*K + k of them
 *   adds    each output is one chain of fma, k upwards, whatever the tile: a row of x gives the same bytes in any batch
 *   int8    x becomes whole numbers by its row's largest, q = rint(x * 127/a); sums of a block are exact, and make the chain
 *   needs   nothing beyond OpenCL C 1.1
 *   build   W_DTYPE, BIAS_DTYPE; TRANS_W, HAS_BIAS, HAS_RESIDUAL; ACT; INT8
 *           TM rows of a tile: 1 where there is one row, else 4
 *   tune    TN 1..8 outputs of a tile: TM * TN chains hide the latency of fma */
#ifndef TM
#define TM 4
#endif
#ifndef TN
#define TN 4
#endif

__kernel void KERNEL(__global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
                     __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
                     __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
                     int residual_row, int y_row)
{
    const int rows = SIZE(R);
    const int n = (int)get_global_id(0) * TN, m = (int)get_global_id(1) * TM;
    if (n >= N || m >= rows)
        return;
#if TRANS_W
    const int wn = K, wk = 1;
#else
    const int wn = 1, wk = N;
#endif

    int row[TM], column[TN];
    float sum[TM][TN];
    for (int r = 0; r < TM; r++) {
        row[r] = x0 + min(m + r, rows - 1) * x_row;
        for (int c = 0; c < TN; c++)
            sum[r][c] = 0.0f;
    }
    for (int c = 0; c < TN; c++)
        column[c] = w0 + min(n + c, N - 1) * wn;

#if INT8
    float up[TM], down[TM];
    for (int r = 0; r < TM; r++)
        up[r] = tsr_int8_scale(x + row[r], K, &down[r]);

    for (int k = 0; k < K; k += 32) {
        int whole[TM][32];
        for (int r = 0; r < TM; r++)
            for (int i = 0; i < 32; i++)
                whole[r][i] = convert_int_rte(x[row[r] + k + i] * up[r]);
        for (int c = 0; c < TN; c++) {
            const float scale = BLOCK_SCALE(W_DTYPE, w, column[c] + k);
            int part[TM];
            for (int r = 0; r < TM; r++)
                part[r] = 0;
            for (int i = 0; i < 32; i++) {
                const int right = WHOLE(W_DTYPE, w, column[c] + k + i);
                for (int r = 0; r < TM; r++)
                    part[r] += whole[r][i] * right;
            }
            for (int r = 0; r < TM; r++)
                sum[r][c] = fma((float)part[r], scale, sum[r][c]);
        }
    }
    for (int r = 0; r < TM; r++)
        for (int c = 0; c < TN; c++)
            sum[r][c] *= down[r];
#else
    for (int k = 0; k < K; k++) {
        float right[TN];
        for (int c = 0; c < TN; c++)
            right[c] = LOAD(W_DTYPE, w, column[c] + k * wk);
        for (int r = 0; r < TM; r++) {
            const float left = x[row[r] + k];
            for (int c = 0; c < TN; c++)
                sum[r][c] = fma(left, right[c], sum[r][c]);
        }
    }
#endif

    for (int r = 0; r < TM; r++)
        for (int c = 0; c < TN; c++)
            if (m + r < rows && n + c < N) {
                float v = sum[r][c];
#if HAS_BIAS
                v += LOAD(BIAS_DTYPE, bias, bias0 + n + c);
#endif
                v = ACTIVATE(ACT, float, v);
#if HAS_RESIDUAL
                v += residual[residual0 + (m + r) * residual_row + n + c];
#endif
                y[y0 + (m + r) * y_row + n + c] = v;
            }
}

#undef TM
#undef TN
#undef W_DTYPE
#undef BIAS_DTYPE
#undef TRANS_W
#undef HAS_BIAS
#undef HAS_RESIDUAL
#undef ACT
#undef INT8
