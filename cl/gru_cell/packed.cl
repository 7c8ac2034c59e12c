/* gru_cell/packed.cl - gru_cell/plain for CPUs and weights in panels: 16 * NV elements of the state
 * in lanes, ROWS sequences at once.
 *
 *   grid    (E/(16*NV), B/ROWS) where ONE, else (1, B/ROWS); work-groups of one work-item
 *   w[g,k]  in panels of 64 rows: at w0 + (g/64*E + k)*64 + g%64
 *   operands, steps, order as gru_cell/plain: the same bytes
 *   adds    over gru_cell/rows: panels; each weight is read once for ROWS sequences
 *   needs   float16 in registers (a CPU); E a multiple of 16 * NV
 *   build   as gru_cell/plain; NV 1|2; ROWS 1|4
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as rows.
 *
 *                                            pocl                      Intel
 *           variant           us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           B=8 T=1 E=512 f32
 *           packed          75.3    167.2    1.25      80.7    155.9    1.18
 *           rows            93.8    134.1    1.00      94.9    132.5    1.00
 *
 *           B=8 T=32 E=512 f32
 *           packed          2319    173.7    2.36      2971    135.5    1.69
 *           rows            5474     73.6    1.00      5017     80.3    1.00 */
#include "elementwise/math16.clh"
#define WIDTH (16 * NV)
#include "elementwise/sixteen.clh"

ENTRY_OF_ONE KERNEL(PLACE
#include "gru_cell/names.clh"
)
{
    const int b0 = ITEM(1) * ROWS, sequences = SIZE(B), steps = SIZE(T);
#if ONE
    const int first = ITEM(0) * WIDTH, end = first + WIDTH;
#else
    const int first = ITEM(0) * E, end = E;
#endif
    if (first >= E || b0 >= sequences)
        return;

    __global const float *h[ROWS], *x[ROWS];
    int n[ROWS], longest = 0;
#pragma unroll
    for (int i = 0; i < ROWS; i++) { /* past the last sequence: the last one, unused */
        const int b = min(b0 + i, sequences - 1);
        n[i] = steps;
#if HAS_LEN
        n[i] = max(0, min(steps, len[len0 + b]));
#endif
        h[i] = state + state0 + b * SIZE(hb);
        x[i] = gates_x + gates_x0 + b * SIZE(xb);
        longest = max(longest, n[i]);
    }

    for (int step = 0; step < longest; step++) {
        const int known = HAS_STATE || step > 0 ? E : 0; /* a first state of zeros adds nothing */
        for (int e = first; e < end; e += WIDTH) {
            float16 sum[3][NV][ROWS];
            __global const ELEMENT(W_DTYPE) *right[3];
#pragma unroll
            for (int g = 0; g < 3; g++) {
                const int row = g * E + e;
                right[g] = w + w0 + row / 64 * E * 64 + row % 64;
#pragma unroll
                for (int j = 0; j < NV; j++)
#pragma unroll
                    for (int i = 0; i < ROWS; i++)
                        sum[g][j][i] = 0.0f;
            }
#pragma unroll 1
            for (int k = 0; k < known; k++) {
#pragma unroll
                for (int g = 0; g < 3; g++)
#pragma unroll
                    for (int j = 0; j < NV; j++) {
                        const float16 weight = LOAD16(W_DTYPE, right[g], k * 4 + j);
#pragma unroll
                        for (int i = 0; i < ROWS; i++)
                            sum[g][j][i] = fma(weight, (float16)(h[i][k]), sum[g][j][i]);
                    }
            }
            for (int i = 0; i < ROWS; i++) {
                if (step >= n[i] || b0 + i >= sequences)
                    continue;
                const int t = REVERSE ? n[i] - 1 - step : step;
                __global const float *own = x[i] + t * SIZE(xt) + e;
                __global float *next = y + y0 + (b0 + i) * SIZE(yb) + t * SIZE(yt) + e;
                for (int j = 0; j < NV; j++) {
                    float16 v[3];
                    for (int g = 0; g < 3; g++)
                        v[g] = sum[g][j][i] + LOAD16_ANY(BIAS_DTYPE, bias + bias0 + g * E + e + j * 16);
                    const float16 r = ACTIVATE(6, float16, (SIXTEEN_OF(own + j * 16) + v[0]));
                    const float16 z = ACTIVATE(6, float16, (SIXTEEN_OF(own + E + j * 16) + v[1]));
                    const float16 fresh = ACTIVATE(5, float16, fma(r, v[2], SIXTEEN_OF(own + 2 * E + j * 16)));
                    float16 old = 0.0f;
                    if (known)
                        old = SIXTEEN_OF(h[i] + e + j * 16);
                    SIXTEEN(next + j * 16) = fma(z, old - fresh, fresh);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            if (step < n[i])
                h[i] = y + y0 + min(b0 + i, sequences - 1) * SIZE(yb) + (REVERSE ? n[i] - 1 - step : step) * SIZE(yt);
    }
    for (int i = 0; i < ROWS && b0 + i < sequences; i++)
        for (int t = n[i]; t < steps; t++)
            for (int e = first; e < end; e++)
                y[y0 + (b0 + i) * SIZE(yb) + t * SIZE(yt) + e] = 0.0f;
}

#undef WIDTH
#undef SIXTEEN
#undef SIXTEEN_OF
