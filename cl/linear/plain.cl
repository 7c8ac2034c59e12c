/* linear/plain.cl - y[r,n] = act(sum_k x[r,k] w[k,n] + bias[n]) + residual[r,n].
 *
 * Who owns what, in linear, glu_linear and matmul (x is a, w is b, R is M there):
 *
 *                    N outputs               the tile of R x N that is owned by
 *                +----+----+----+----+
 *                |    | w  |    |    |       plain    a work-item: TM x TN
 *              K |    | w  |    |    |       cached   a work-item: up to 264 x 64
 *                |    | w  |    |    |       packed   a work-item: MR x 64, a panel of w
 *         K      +----+----+----+----+       tiled    a work-group of GN x GM work-items:
 *      +-----+   +----+----+----+----+                GM*TM x GN*TN; each of them TM x TN
 *      |     |   |    |    |    |    |
 *    R | xxx |   |    | y  |    |    |       The owner of an output forms its whole sum over K,
 *      |     |   |    |    |    |    |       so nothing is added across work-items, and all
 *      +-----+   +----+----+----+----+       variants give the same bytes
 *
 * The ladder for f32 (integer products have theirs in weighted/vnni.clh), GFLOP/s of 512x768x768. The
 * figures of Intel's CPU runtime are from one run on a processor without half arithmetic. Those of
 * pocl 3.1 are from three: plain and tiled on 2 AVX-512 cores, packed (docs/performance.md) and
 * cached (GPT-2, 256 tokens) on 2 Zen 4 cores, which reach 236 in registers.
 *
 *   variant      adds over the one before it                              Intel   pocl
 *   plain        a register tile in each work-item                        15      17
 *   tiled        GPUs: operands in local memory, read once a work-group   53      35
 *   tiled_half   GPUs: products of halves, for those who ask for f16      22      -
 *   cached       CPUs: float16 lanes; packs w where it multiplies         -       203-215
 *   packed       CPUs: the weight is stored in panels                     227     214.9
 *
 * One row of x, 2048x2048, Intel's runtime, ms: tiled_half 12.4, skinny_half 7.0, skinny 4.1,
 * packed_one 0.10. packed_split is packed_one with a panel dealt to several work-items. 2 to 8 rows
 * of x take packed_few.
 *
 * Failed: matmul/packed, which packed all of b into scratch before it multiplied (figures in
 * matmul/cached.cl); packed tiles of 8x48, 12x32 and 7x64 (linear/packed.cl); k in steps of 256 by
 * separate launches, 10 to 20 % slower because y is read again.
 *
 *   grid    (N/TN, R/TM), one work-item each: a TM x TN tile; tiles at the edge repeat the last row
 *           and column
 *   x[r,k]  at x0 + r*x_row + k; y and residual likewise
 *   w       w[n,k] at w0 + n*K + k where TRANS_W, else w[k,n] at w0 + k*N + n; element n*K + k of
 *           blocks
 *   order   each output is one sum, formed by fma with ascending k, whatever the tile: a row of x
 *           gives the same bytes in any batch
 *   int8    each block of 32 inputs of x is quantised by its largest magnitude a, q = rint(x * 127/a).
 *           The integer sum of a block is exact; it is multiplied by a/127, then by the weights' scale in
 *           the fma that adds it, with ascending k. Scales of 16 inputs have two such sums; where
 *           weights have minima, minus the sum of q, times a/127, follows by an fma with the minimum
 *   needs   nothing beyond OpenCL C 1.1
 *   build   W_DTYPE, BIAS_DTYPE; TRANS_W, HAS_BIAS, HAS_RESIDUAL; ACT; INT8
 *           TM rows of a tile: 1 where there is one row, else 4
 *   tune    TN 1..8 outputs of a tile: TM * TN independent sums hide the latency of fma
 *   paid    the first line of the ladder; on Intel's runtime TN=1 takes 0.37 of TN=4's time
 *           (cl/tuned) */
#ifndef TM
#define TM 4
#endif
#ifndef TN
#define TN 4
#endif

ENTRY KERNEL(PLACE __global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
             __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
             __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
             int residual_row, int y_row)
{
    const int rows = SIZE(R);
    const int n = ITEM(0) * TN, m = ITEM(1) * TM;
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
    for (int k = 0; k < K; k += 32) {
        int whole[TM][32];
        float down[TM];
        for (int r = 0; r < TM; r++) {
            const float up = tsr_int8_scale(x + row[r] + k, &down[r]);
            for (int i = 0; i < 32; i++)
                whole[r][i] = convert_int_rte(x[row[r] + k + i] * up);
        }
        for (int c = 0; c < TN; c++) {
            for (int g = 0; g < 32; g += BLOCK_PART(W_DTYPE)) {
                const float scale = BLOCK_SCALE(W_DTYPE, w, column[c] + k + g);
                int part[TM], total[TM];
                for (int r = 0; r < TM; r++)
                    part[r] = total[r] = 0;
                for (int i = g; i < g + BLOCK_PART(W_DTYPE); i++) {
                    const int right = WHOLE(W_DTYPE, w, column[c] + k + i);
                    for (int r = 0; r < TM; r++) {
                        part[r] += whole[r][i] * right;
                        total[r] += whole[r][i];
                    }
                }
                for (int r = 0; r < TM; r++)
                    sum[r][c] = fma((float)part[r] * down[r], scale, sum[r][c]);
#if BLOCK_MINIMA(W_DTYPE)
                const float minimum = BLOCK_MINIMUM(W_DTYPE, w, column[c] + k + g);
                for (int r = 0; r < TM; r++)
                    sum[r][c] = fma((float)-total[r] * down[r], minimum, sum[r][c]);
#endif
            }
        }
    }
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
