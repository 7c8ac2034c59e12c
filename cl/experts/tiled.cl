/* experts/tiled.cl - the products of experts/plain by work-groups that share local memory.
 *
 *   grid    (N/64 or, with GATED, N/32; E or pairs) work-groups of 64: all pairs of an expert by 64 sums,
 *           64 outputs or 32 gates and their ups; ROWS = 4 * TM pairs at a time. Of those sums a
 *           work-item has TM pairs by 4, 16 apart
 *   x, w, y as experts/plain. Rows of x, and those of the weight where TRANS_W, are read 16 inputs at a
 *           time by neighbouring work-items, and each element once for a tile
 *   pairs   64 at a time are compared with the expert; those that it has join a list in local memory, in
 *           any order: a sum has one owner and is of one pair, so its bytes do not depend on that order
 *   order   as experts/plain: the same bytes
 *   needs   a work-group of 64, 4 * (16 * (65 + ROWS + 1) + ROWS + 65) bytes of local memory (TM 4: 6 KiB),
 *           and its atomics on int, which OpenCL C 1.1 has
 *   build   W_DTYPE, BIAS_DTYPE; TRANS_W, HAS_BIAS, GATED; ACT; BY_PAIR as experts/pairs.clh
 *   tune    TM 1..8
 *   claims  waves 3 */
#ifndef TM
#define TM 4
#endif
#define BK 16
#define ROWS (4 * TM)
#define WIDTH (GATED ? 32 : 64) /* outputs of a work-group */
#ifndef FIRST_EXPERT
#define FIRST_EXPERT 0
#endif

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
KERNEL(__global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0, __global const int *experts,
       int experts0, __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0,
       __global const int *dims, int P, int P_set, int E, int N, int K, int share, int x_row, int y_row)
{
    __local float left[BK][ROWS + 1], right[BK][65];
    __local int list[ROWS + 64], found;
    const int pairs = SIZE(P), own = (int)get_local_id(0), n = (int)get_global_id(0) / 64 * WIDTH,
              item = (int)get_global_id(1), outputs = N * (GATED + 1);
    /* Unsigned: for a signed quotient beside its remainder, LLVM writes `freeze`, which Oclgrind can't run. */
    const int column = (uint)own % 16, top = (uint)own / 16 * TM;
    int first = 0, e = item + FIRST_EXPERT;
    experts += experts0;
#if BY_PAIR
    first = item;
    e = item < pairs ? experts[item] : -1;
    for (int p = 0; p < item && p < pairs; p++)
        if (experts[p] == e)
            e = -1; /* an earlier pair has this expert */
#endif
    if (e < FIRST_EXPERT || e - FIRST_EXPERT >= E)
        return; /* the whole work-group */
    const int own_e = e - FIRST_EXPERT; /* its number in w and bias */
    if (own == 0)
        found = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int p = first;;) {
        /* The list grows until it has a tile, or all pairs have been seen. */
        int have = found;
        barrier(CLK_LOCAL_MEM_FENCE);
        while (have < ROWS && p < pairs) {
            if (p + own < pairs && experts[p + own] == e)
                list[atomic_inc(&found)] = p + own;
            p += 64;
            barrier(CLK_LOCAL_MEM_FENCE);
            have = found;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (have == 0)
            break;

        float sum[TM][4]; /* in registers: the loops over it are unrolled */
#pragma unroll
        for (int r = 0; r < TM; r++)
#pragma unroll
            for (int c = 0; c < 4; c++)
                sum[r][c] = 0.0f;
        for (int k = 0; k < K; k += BK) {
            for (uint i = own; i < ROWS * BK; i += 64) {
                const int row = i / BK, at = k + i % BK;
                left[i % BK][row] = row < have && at < K ? x[x0 + list[row] / share * x_row + at] : 0.0f;
            }
            for (uint i = own; i < 64 * BK; i += 64) {
#if TRANS_W
                const uint c = i / BK, j = i % BK;
#else
                const uint c = i % 64, j = i / 64;
#endif
                const int out = n + c % WIDTH, o = c / WIDTH * N + out;
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
                const int out = n + column + 16 * c;
                if (top + r >= have || out >= N)
                    continue;
                float v = sum[r][c];
#if HAS_BIAS
                v += LOAD(BIAS_DTYPE, bias, bias0 + own_e * outputs + out);
#endif
#if GATED
                float up = sum[r][2 + c];
#if HAS_BIAS
                up += LOAD(BIAS_DTYPE, bias, bias0 + own_e * outputs + N + out);
#endif
                v = GLU(float, v, up);
#else
                v = ACTIVATE(ACT, float, v);
#endif
                y[y0 + list[top + r] * y_row + out] = v;
            }

        /* What is left of the list becomes its beginning: at most 63 pairs. */
        const int rest = max(have - ROWS, 0), moved = own < rest ? list[ROWS + own] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (own < rest)
            list[own] = moved;
        if (own == 0)
            found = rest;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#undef TM
#undef BK
#undef ROWS
#undef WIDTH
#undef FIRST_EXPERT
