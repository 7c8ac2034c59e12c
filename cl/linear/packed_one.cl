/* linear/packed_one.cl - y[n] = act(sum_k x[k] w[k,n] + bias[n]) + residual[n]: linear/packed for
 * one row, whose speed is the rate at which the weight is read from memory.
 *
 *   grid    (N / (STREAMS*16*NV)), work-groups of one work-item: STREAMS whole panels (NV 4), or NV
 *           vectors of one panel (STREAMS 1) where a weight has too few panels for the cores
 *   operands, order, needs, build as linear/packed
 *   adds    over linear/packed: no tile of rows; a weight with few panels is dealt out in parts
 *           (packed_split)
 *   tune    STREAMS 1..4 panels of a work-item, NV 1|2|4 vectors of a panel, AHEAD how many k are
 *           prefetched (0: none)
 *   paid    92-97 % of the read bandwidth measured beside it, from huge pages, for f32, f16 and
 *           bf16 alike (2 Zen 4 cores, pocl, 16384x4096). Failed: STREAMS 2 and 4, the same rate;
 *           AHEAD of 1 and 4 KiB, 78 to 95 %: it pays on a core with a poor prefetcher only */
#ifndef STREAMS
#define STREAMS 1
#endif
#ifndef NV
#define NV 4
#endif

#include "elementwise/math16.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
                    __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
                    __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int K, int x_row,
                    int residual_row, int y_row)
{
    const int first = ITEM(0) * STREAMS * NV * 16, m = 0;
    if (SIZE(R) < 1 || first >= N)
        return;

    __global const float *left = x + x0;
    __global const ELEMENT(W_DTYPE) *right[STREAMS];
    float16 sum[STREAMS][NV];
#pragma unroll
    for (int s = 0; s < STREAMS; s++) /* past the last panel: the last one, unused */
        right[s] = w + w0 + min(first / 64 + s, (N - 1) / 64) * K * 64 + first % 64;
#include "weighted/streams.clh"

    float16 done[STREAMS * NV];
#pragma unroll
    for (int s = 0; s < STREAMS; s++)
#pragma unroll
        for (int j = 0; j < NV; j++)
            done[s * NV + j] = sum[s][j];
    for (int i = 0; i < STREAMS * NV; i++) {
        const int n = first + i * 16;
        float16 v = done[i];
#include "linear/finish.clh"
    }
}

#undef STREAMS
#undef NV
