/* experts/plain.cl - y[p,n] = act(sum_k x[p,k] w[e,k,n] + bias[e,n]) with e = experts[p], for each pair
 * p = r*J + j of a row and one of its experts; with GATED act(gate) * up.
 *
 *   grid    (N/TN, P), one work-item each: TN outputs of a pair; past the edge the last one again
 *   x[p,k]  at x0 + p/share*x_row + k: `share` pairs have one row; y at y0 + p*y_row + n
 *   w       of each expert as in linear/plain and glu_linear/plain, one expert after the other
 *   order   as linear/plain: each output is one sum, by fma with ascending k, so a row gives the same
 *           bytes whatever experts other rows take
 *   needs   nothing beyond OpenCL C 1.1
 *   build   W_DTYPE, BIAS_DTYPE; TRANS_W, HAS_BIAS, GATED; ACT; INT8. Of a part of the weights, those of
 *           E experts: FIRST_EXPERT, and EXPERTS of the whole; pairs of other experts are left alone
 *   tune    TN 1..8 outputs of a work-item
 *
 * Who owns what. The other variants give a work-item (CPUs) or a work-group an expert and a part of its
 * outputs, for all of its pairs. It finds these by reading `experts`, in order: for 512 rows with 8
 * experts each that is 4,096 integers, beside K products for each pair that it takes and each of 64
 * outputs. So there is no sorting of pairs before the products, no sum of several owners, and the pairs
 * of an expert are in the order of the rows. */
#ifndef TN
#define TN 2
#endif
#define SUMS (GATED + 1)

ENTRY KERNEL(PLACE __global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
             __global const int *experts, int experts0, __global const ELEMENT(BIAS_DTYPE) *bias, int bias0,
             __global float *y, int y0, __global const int *dims, int P, int P_set, int E, int N, int K, int share,
             int x_row, int y_row)
{
    const int pairs = SIZE(P), n = ITEM(0) * TN, p = ITEM(1), outputs = N * SUMS;
    if (n >= N || p >= pairs)
        return;
#ifdef EXPERTS
    const int e = clamp(experts[experts0 + p], 0, EXPERTS - 1) - FIRST_EXPERT;
    if (e < 0 || e >= E)
        return;
#else
    const int e = clamp(experts[experts0 + p], 0, E - 1);
#endif
#if TRANS_W
    const int wn = K, wk = 1;
#else
    const int wn = 1, wk = outputs;
#endif

    const int row = x0 + p / share * x_row;
    int column[SUMS * TN];
    float sum[SUMS * TN];
    for (int c = 0; c < SUMS * TN; c++) {
        column[c] = w0 + e * outputs * K + (c / TN * N + min(n + c % TN, N - 1)) * wn;
        sum[c] = 0.0f;
    }

#if INT8
    for (int k = 0; k < K; k += 32) {
        int whole[32];
        float down;
        const float up = tsr_int8_scale(x + row + k, &down);
        for (int i = 0; i < 32; i++)
            whole[i] = convert_int_rte(x[row + k + i] * up);
        for (int c = 0; c < SUMS * TN; c++)
            for (int g = 0; g < 32; g += BLOCK_PART(W_DTYPE)) {
                int part = 0, total = 0;
                for (int i = g; i < g + BLOCK_PART(W_DTYPE); i++) {
                    part += whole[i] * WHOLE(W_DTYPE, w, column[c] + k + i);
                    total += whole[i];
                }
                sum[c] = fma((float)part * down, BLOCK_SCALE(W_DTYPE, w, column[c] + k + g), sum[c]);
#if BLOCK_MINIMA(W_DTYPE)
                sum[c] = fma((float)-total * down, BLOCK_MINIMUM(W_DTYPE, w, column[c] + k + g), sum[c]);
#endif
            }
    }
#else
    for (int k = 0; k < K; k++) {
        const float left = x[row + k];
        for (int c = 0; c < SUMS * TN; c++)
            sum[c] = fma(left, LOAD(W_DTYPE, w, column[c] + k * wk), sum[c]);
    }
#endif

    for (int c = 0; c < TN && n + c < N; c++) {
        float v = sum[c];
#if HAS_BIAS
        v += LOAD(BIAS_DTYPE, bias, bias0 + e * outputs + n + c);
#endif
#if GATED
        float up = sum[TN + c];
#if HAS_BIAS
        up += LOAD(BIAS_DTYPE, bias, bias0 + e * outputs + N + n + c);
#endif
        v = GLU(float, v, up);
#else
        v = ACTIVATE(ACT, float, v);
#endif
        y[y0 + p * y_row + n + c] = v;
    }
}

#undef TN
#undef SUMS
