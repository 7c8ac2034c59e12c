/* glu_linear/packed_one.cl - glu_linear/packed for one row, whose speed is the rate at which the
 * weight is read from memory.
 *
 *   grid    (F / (16*NV)), work-groups of one work-item: NV vectors of a panel of gates and the
 *           same of their ups
 *   operands, order, needs, build as glu_linear/packed
 *   adds    over glu_linear/packed: no tile of rows; a weight with few panels is dealt out in parts
 *           (packed_split)
 *   tune    NV 1|2|4 vectors of a panel: fewer where a weight has too few panels for the cores;
 *           AHEAD how many k are prefetched (0: none)
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as packed.
 *
 *                                               pocl                      Intel
 *           variant              us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           M=1 K=768 F=2048 f32 w' act 4
 *           packed             79.9     78.7    1.00      83.8     75.1    1.00
 *           packed_one         55.2    114.0    1.45      56.6    111.2    1.48
 *
 *           M=1 K=768 F=2048 f16 w' act 4
 *           packed             81.6     77.1    1.00      84.0     74.9    1.00
 *           packed_one         36.4    173.0    2.24      34.5    182.4    2.43
 *
 *           M=1 K=768 F=2048 bf16 w' act 4
 *           packed             78.9     79.8    1.00      82.5     76.2    1.00
 *           packed_one         34.7    181.3    2.27      34.3    183.2    2.40 */
#ifndef NV
#define NV 4
#endif

#include "elementwise/math16.clh"
#define STREAMS 2 /* gates and ups */

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
                    __global const int *dims, int R, int R_set, int F, int K, int x_row, int y_row)
{
    const int first = ITEM(0) * NV * 16, m = 0;
    if (SIZE(R) < 1 || first >= F)
        return;

    __global const float *left = x + x0;
    __global const ELEMENT(W_DTYPE) *right[STREAMS];
    float16 sum[STREAMS][NV];
    right[0] = w + w0 + first / 64 * K * 64 + first % 64;
    right[1] = right[0] + F / 64 * K * 64;
#include "weighted/streams.clh"

#pragma unroll
    for (int j = 0; j < NV; j++) {
        const int n = first + j * 16;
        float16 g = sum[0][j], u = sum[1][j];
#include "glu_linear/finish.clh"
    }
}

#undef STREAMS
#undef NV
