/* glu_linear/packed.cl - y[r,f] = act(x w_gate + bias_gate) * (x w_up + bias_up) on CPUs, from a
 * weight in panels.
 *
 *   grid    (R/MR, F/LANES), work-groups of one work-item: MR rows by LANES = 16 * NV outputs, each
 *           with the sum of its gate and that of its up. Dimension 0 walks the rows, so that
 *           consecutive work-groups share their part of a panel in the cache
 *   x[r,k]  at x0 + r*x_row + k, read as broadcast scalars; y likewise
 *   w[k,n]  as in linear/packed, 2F outputs, gates first; F is a multiple of 64, so gate and up lie
 *           in the same lanes
 *   adds    over glu_linear/plain: panels and float16 lanes, as linear/packed
 *   order   as glu_linear/plain, ascending k: the same bytes
 *   needs   float16 in registers (a CPU)
 *   build   W_DTYPE, BIAS_DTYPE; HAS_BIAS; ACT
 *   tune    MR 1..7 rows, NV 1|2|4 vectors of outputs: 2 * MR * NV sums, 2 * NV vectors of weights
 *           and a scalar in 32 registers. One row takes the whole panel (NV 4), which is read as
 *           one stream; six rows half of it
 *   paid    MR 5 in place of 6 gained 2.3 % once (cl/tuned); see also packed_few */
#ifndef MR
#define MR 6
#endif
#ifndef NV
#define NV 2
#endif

#include "elementwise/math16.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
                    __global const int *dims, int R, int R_set, int F, int K, int x_row, int y_row)
{
    const int rows = SIZE(R);
    const int m = ITEM(0) * MR, n = ITEM(1) * NV * 16;
    if (m >= rows || n >= F)
        return;
    const int panel = n / 64, apart = F / 64; /* panels between a gate and its up */

    __global const float *left[MR];
    float16 gate[MR][NV], up[MR][NV];
#pragma unroll
    for (int r = 0; r < MR; r++) {
        left[r] = x + x0 + min(m + r, rows - 1) * x_row;
#pragma unroll
        for (int j = 0; j < NV; j++)
            gate[r][j] = up[r][j] = 0.0f;
    }

    __global const ELEMENT(W_DTYPE) *right = w + w0 + panel * K * 64 + n % 64;
    __global const ELEMENT(W_DTYPE) *other = right + apart * K * 64;
    for (int k = 0; k < K; k++) {
        float16 a[NV], b[NV];
#pragma unroll
        for (int j = 0; j < NV; j++) {
            a[j] = LOAD16(W_DTYPE, right, j);
            b[j] = LOAD16(W_DTYPE, other, j);
        }
#pragma unroll
        for (int r = 0; r < MR; r++) {
            const float16 scalar = left[r][k];
#pragma unroll
            for (int j = 0; j < NV; j++) {
                gate[r][j] = fma(scalar, a[j], gate[r][j]);
                up[r][j] = fma(scalar, b[j], up[r][j]);
            }
        }
        right += 64;
        other += 64;
    }

#pragma unroll
    for (int r = 0; r < MR; r++)
        if (m + r < rows) {
#pragma unroll
            for (int j = 0; j < NV; j++) {
                float16 g = gate[r][j], u = up[r][j];
#if HAS_BIAS
                g += LOAD16_ANY(BIAS_DTYPE, bias + bias0 + n + j * 16);
                u += LOAD16_ANY(BIAS_DTYPE, bias + bias0 + F + n + j * 16);
#endif
                vstore16(GLU(float16, g, u), 0, y + y0 + (m + r) * y_row + n + j * 16);
            }
        }
}

#undef MR
#undef NV
