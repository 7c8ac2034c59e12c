/* glu_linear/packed_one.cl - glu_linear/packed for one row, whose speed is the rate at which the
 * weight is read from memory.
 *
 *   grid    (F / (16*NV)), work-groups of one work-item: NV vectors of a panel of gates and the
 *           same of their ups
 *   operands, order, needs, build as glu_linear/packed
 *   adds    over glu_linear/packed: no tile of rows; a weight with few panels is dealt out in parts
 *           (packed_split)
 *   tune    NV 1|2|4 vectors of a panel: fewer where a weight has too few panels for the cores;
 *           AHEAD how many k are prefetched (0: none) */
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
#include "linear/streams.clh"

#pragma unroll
    for (int j = 0; j < NV; j++) {
        const int n = first + j * 16;
        float16 g = sum[0][j], u = sum[1][j];
#include "glu_linear/finish.clh"
    }
}

#undef STREAMS
#undef NV
