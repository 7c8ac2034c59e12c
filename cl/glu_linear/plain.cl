/* glu_linear/plain.cl - y[r,f] = act(x w_gate + bias_gate) * (x w_up + bias_up). Picture and
 * ladder: linear/plain.cl.
 *
 *   grid    (F/TN, R/TM), one work-item each: a TM x TN tile of y, two sums for each element
 *   x[r,k]  at x0 + r*x_row + k; y likewise
 *   w       has 2F outputs, gates first: w[n,k] at w0 + n*K + k where TRANS_W, else w[k,n] at w0 +
 *           k*2F + n; element n*K + k of blocks
 *   order   each sum is formed by fma with ascending k, whatever the tile
 *   int8    each row of x is quantised by its largest magnitude, as in linear/plain
 *   needs   nothing beyond OpenCL C 1.1
 *   build   W_DTYPE, BIAS_DTYPE; TRANS_W, HAS_BIAS; ACT; INT8
 *           TM rows of a tile: 1 where there is one row, else 4
 *   tune    TN 1..8 outputs of a tile: 2 * TM * TN independent sums hide the latency of fma
 *   paid    the baseline. 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                               pocl                      Intel
 *           variant              us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           M=1 K=768 F=2048 f32 w' act 4
 *           plain              1334      4.7    1.00     390.6     16.1    1.00
 *           tiled              3595      1.8    0.37      2366      2.7    0.17
 *           packed             79.9     78.7   16.69      83.8     75.1    4.66
 *           packed_few         63.9     98.5   20.88      65.2     96.4    5.99
 *           packed_one         55.2    114.0   24.16      56.6    111.2    6.90
 *           skinny             4527      1.4    0.29      3037      2.1    0.13
 *
 *           M=1 K=768 F=2048 q8_0 w' act 4 int8
 *           plain              1228      5.1    1.00     933.8      6.7    1.00
 *           blocks             72.0     87.4   17.05      81.7     77.0   11.42
 *           vnni               19.8    317.0   61.87      20.5    307.1   45.57
 *           vnni_few           20.6    305.8   59.68      22.2    282.8   41.98
 *           vnni_one           18.7    337.1   65.80      19.5    322.7   47.89
 *           blocks_one         39.6    158.8   30.99      37.6    167.1   24.81
 *           int8               2487      2.5    0.49     892.2      7.1    1.05
 *           int8_dot              -        -       -      2404      2.6    0.39
 *
 *           M=128 K=768 F=2048 f32 w' act 4
 *           plain            106179      7.6    1.00     18547     43.4    1.00
 *           tiled             17979     44.8    5.91      9380     85.8    1.98
 *           packed             1799    447.7   59.03      1697    474.5   10.93
 *
 *           M=128 K=768 F=2048 q8_0 w' act 4 int8
 *           plain            156011      5.2    1.00    161444      5.0    1.00
 *           blocks             3166    254.4   49.28      3402    236.7   47.46
 *           vnni              571.9   1408.2  272.81     535.6   1503.6  301.43
 *           int8              13849     58.1   11.26      8615     93.5   18.74
 *           int8_dot              -        -       -     35462     22.7    4.55 */
#ifndef TM
#define TM 4
#endif
#ifndef TN
#define TN 2
#endif

ENTRY KERNEL(PLACE __global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
             __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0, __global const int *dims,
             int R, int R_set, int F, int K, int x_row, int y_row)
{
    const int rows = SIZE(R);
    const int n = ITEM(0) * TN, m = ITEM(1) * TM;
    if (n >= F || m >= rows)
        return;
#if TRANS_W
    const int wn = K, wk = 1;
#else
    const int wn = 1, wk = 2 * F;
#endif

    int row[TM], column[TN];
    float gate[TM][TN], up[TM][TN];
    for (int r = 0; r < TM; r++) {
        row[r] = x0 + min(m + r, rows - 1) * x_row;
        for (int c = 0; c < TN; c++)
            gate[r][c] = up[r][c] = 0.0f;
    }
    for (int c = 0; c < TN; c++)
        column[c] = w0 + min(n + c, F - 1) * wn;

#if INT8
    for (int k = 0; k < K; k += 32) {
        int whole[TM][32];
        float down[TM];
        for (int r = 0; r < TM; r++) {
            const float scale_up = tsr_int8_scale(x + row[r] + k, &down[r]);
            for (int i = 0; i < 32; i++)
                whole[r][i] = convert_int_rte(x[row[r] + k + i] * scale_up);
        }
        for (int c = 0; c < TN; c++) {
            for (int part = 0; part < 32; part += BLOCK_PART(W_DTYPE)) {
                const int g0 = column[c] + k + part, u0 = g0 + F * wn;
                int g[TM], u[TM], total[TM];
                for (int r = 0; r < TM; r++)
                    g[r] = u[r] = total[r] = 0;
                for (int i = 0; i < BLOCK_PART(W_DTYPE); i++) {
                    const int wg = WHOLE(W_DTYPE, w, g0 + i), wu = WHOLE(W_DTYPE, w, u0 + i);
                    for (int r = 0; r < TM; r++) {
                        g[r] += whole[r][part + i] * wg;
                        u[r] += whole[r][part + i] * wu;
                        total[r] += whole[r][part + i];
                    }
                }
                for (int r = 0; r < TM; r++) {
                    gate[r][c] = fma((float)g[r] * down[r], BLOCK_SCALE(W_DTYPE, w, g0), gate[r][c]);
                    up[r][c] = fma((float)u[r] * down[r], BLOCK_SCALE(W_DTYPE, w, u0), up[r][c]);
#if BLOCK_MINIMA(W_DTYPE)
                    const float less = (float)-total[r] * down[r];
                    gate[r][c] = fma(less, BLOCK_MINIMUM(W_DTYPE, w, g0), gate[r][c]);
                    up[r][c] = fma(less, BLOCK_MINIMUM(W_DTYPE, w, u0), up[r][c]);
#endif
                }
            }
        }
    }
#else
    for (int k = 0; k < K; k++) {
        float left[TM];
        for (int r = 0; r < TM; r++)
            left[r] = x[row[r] + k];
        for (int c = 0; c < TN; c++) {
            const float wg = LOAD(W_DTYPE, w, column[c] + k * wk);
            const float wu = LOAD(W_DTYPE, w, column[c] + F * wn + k * wk);
            for (int r = 0; r < TM; r++) {
                gate[r][c] = fma(left[r], wg, gate[r][c]);
                up[r][c] = fma(left[r], wu, up[r][c]);
            }
        }
    }
#endif

    for (int r = 0; r < TM; r++)
        for (int c = 0; c < TN; c++)
            if (m + r < rows && n + c < F) {
                float g = gate[r][c], u = up[r][c];
#if HAS_BIAS
                g += LOAD(BIAS_DTYPE, bias, bias0 + n + c);
                u += LOAD(BIAS_DTYPE, bias, bias0 + F + n + c);
#endif
                y[y0 + (m + r) * y_row + n + c] = GLU(float, g, u);
            }
}

#undef TM
#undef TN
