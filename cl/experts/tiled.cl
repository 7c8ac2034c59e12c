/* experts/tiled.cl - the products of experts/plain by work-groups that share local memory.
 *
 *   grid    (N/64 or, with GATED, N/32; E or pairs) work-groups of 64: all pairs of an expert by 64 sums,
 *           64 outputs or 32 gates and their ups; ROWS = 4 * TM pairs at a time. Of those sums a
 *           work-item has TM pairs by 4, 16 apart
 *   x, w, y as experts/plain. Rows of x, and those of the weight where TRANS_W, are read 16 inputs at a
 *           time by neighbouring work-items, and each element once for a tile
 *   pairs   experts/pair_list.clh
 *   order   as experts/plain: the same bytes
 *   needs   a work-group of 64, 4 * (16 * (65 + ROWS + 1) + ROWS + 66) bytes of local memory (TM 4: 6 KiB),
 *           and its atomics on int, which OpenCL C 1.1 has
 *   build   W_DTYPE, BIAS_DTYPE; TRANS_W, HAS_BIAS, GATED; ACT; BY_PAIR, FIRST_EXPERT as experts/pair_list.clh
 *   tune    TM 1..8
 *   claims  waves 3 */
#ifndef TM
#define TM 4
#endif
#define BK 16
#define ROWS (4 * TM)
#define WIDTH (GATED ? 32 : 64) /* outputs of a work-group */
#define GROUP 64
#define HAS_RESIDUAL 0

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
KERNEL(__global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0, __global const int *experts,
       int experts0, __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
       __global const int *dims, int P, int P_set, int E, int N, int K, int share, int x_row, int y_row)
{
    __local float left[BK][ROWS + 1], right[BK][65];
    const int pairs = SIZE(P), self = (int)get_local_id(0), first_n = (int)get_global_id(0) / 64 * WIDTH,
              item = (int)get_global_id(1), outputs = N * (GATED + 1);
    /* Unsigned: for a signed quotient beside its remainder, LLVM writes `freeze`, which Oclgrind can't run. */
    const int column = (uint)self % 16, top = (uint)self / 16 * TM;
    experts += experts0;
#include "experts/pair_list.clh"
    bias0 += own_e * outputs;

    for (;;) {
        int have;
        NEXT_PAIRS(have)
        if (have == 0)
            break;

        float sum[TM][4]; /* in registers: the loops over it are unrolled */
#pragma unroll
        for (int r = 0; r < TM; r++)
#pragma unroll
            for (int c = 0; c < 4; c++)
                sum[r][c] = 0.0f;
        for (int k = 0; k < K; k += BK) {
            for (uint i = self; i < ROWS * BK; i += 64) {
                const int row = i / BK, at = k + i % BK;
                left[i % BK][row] = row < have && at < K ? x[x0 + PAIR(row) / share * x_row + at] : 0.0f;
            }
            for (uint i = self; i < 64 * BK; i += 64) {
#if TRANS_W
                const uint c = i / BK, j = i % BK;
#else
                const uint c = i % 64, j = i / 64;
#endif
                const int out = first_n + c % WIDTH, o = c / WIDTH * N + out;
                const bool inside = out < N && k + j < K;
#if TRANS_W
                const int place = w0 + (own_e * outputs + o) * K + k + j;
#else
                const int place = w0 + (own_e * K + k + j) * outputs + o;
#endif
                right[j][c] = inside ? LOAD(W_DTYPE, w, place) : 0.0f;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const int end = min(BK, K - k);
            for (int j = 0; j < end; j++)
#pragma unroll
                for (int r = 0; r < TM; r++)
#pragma unroll
                    for (int c = 0; c < 4; c++)
                        sum[r][c] = fma(left[j][top + r], right[j][column + 16 * c], sum[r][c]);
            barrier(CLK_LOCAL_MEM_FENCE);
        }

#pragma unroll
        for (int r = 0; r < TM; r++)
#pragma unroll
            for (int c = 0; c < WIDTH / 16; c++) {
                const int n = first_n + column + 16 * c;
                if (top + r < have && n < N) {
                    const int m = PAIR(top + r);
#if GATED
                    float gate = sum[r][c], up = sum[r][2 + c];
#else
                    float v = sum[r][c];
#endif
#include "experts/finish_one.clh"
                }
            }
        DROP_PAIRS(have)
    }
}

#include "experts/pair_list_end.clh"
#undef TM
#undef BK
#undef ROWS
#undef WIDTH
#undef GROUP
#undef HAS_RESIDUAL
