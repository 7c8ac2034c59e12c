/* matmul/packed.cl - y[m,n] = alpha * sum_k a[m,k] b[k,n] on CPUs, for every matrix of up to three leading dimensions.
 *
 *   grid    (M/MR, N/64, matrices), work-groups of one: MR rows by one panel of 64 columns of b, over all of K. Dimension 0
 *           walks the rows, so that consecutive work-groups share a panel in the cache
 *   a, y    at any strides, given in elements for the last five dimensions; 0 repeats (broadcast)
 *   b       in scratch, as matmul/pack leaves it
 *   adds    the chains of matmul/plain, k upwards: the same sums
 *   needs   float16 in registers (a CPU)
 *   build   A_DTYPE, Y_DTYPE; TRANS_A: a is [..,K,M]; B_DTYPE and TRANS_B are the stage's
 *   tune    MR 1..7 rows a work-item: 4 * MR accumulators, 4 vectors of b and a scalar in 32 registers
 *   paid    GFLOP/s on 2 Zen 4 cores, 236 in registers, packing of b counted: 1024^3 211 (a transposed 200), 12 of 512x512x64 118,
 *           12 of 512x64x512 186, 64x768x768 117; matmul/plain 13-16
 *   source  linear/packed */
#ifndef MR
#define MR 6
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
KERNEL(__global const ELEMENT(A_DTYPE) *a, int a0, __global ELEMENT(Y_DTYPE) *y, int y0, __global const int *dims,
       int8 size, int8 size_set, int8 a_step, int8 a_set, int8 y_step, int8 y_set, int K, int K_set, float alpha,
       __global const float *scratch)
{
    const int M = size.s6 * dims[size_set.s6], N = size.s7 * dims[size_set.s7], depth = SIZE(K);
    const int panels = (N + 63) / 64;
    const int m = (int)get_global_id(0) * MR, panel = (int)get_global_id(1), matrix = (int)get_global_id(2);
    const int inner = size.s5 * dims[size_set.s5], middle = size.s4 * dims[size_set.s4];
    const int outer = size.s3 * dims[size_set.s3];
    if (m >= M || panel >= panels || matrix >= inner * middle * outer)
        return;
    const int above = matrix / inner, i = matrix - above * inner;
    const int l = above / middle, j = above - l * middle;
    const int a6 = a_step.s6 * dims[a_set.s6], a7 = a_step.s7 * dims[a_set.s7];
#if TRANS_A
    const int am = a7, ak = a6;
#else
    const int am = a6, ak = a7;
#endif
    a += a0 + i * a_step.s5 * dims[a_set.s5] + j * a_step.s4 * dims[a_set.s4] + l * a_step.s3 * dims[a_set.s3];

    int row[MR];
    float16 sum[MR][4];
#pragma unroll
    for (int r = 0; r < MR; r++) {
        row[r] = min(m + r, M - 1) * am;
#pragma unroll
        for (int c = 0; c < 4; c++)
            sum[r][c] = 0.0f;
    }

    __global const float16 *right = (__global const float16 *)scratch + (matrix * panels + panel) * depth * 4;
    for (int k = 0; k < depth; k++) {
        float16 lanes[4];
#pragma unroll
        for (int c = 0; c < 4; c++)
            lanes[c] = right[c];
#pragma unroll
        for (int r = 0; r < MR; r++) {
            const float16 scalar = LOAD(A_DTYPE, a, row[r]);
#pragma unroll
            for (int c = 0; c < 4; c++)
                sum[r][c] = fma(scalar, lanes[c], sum[r][c]);
        }
        a += ak;
        right += 4;
    }

    float16 done[MR][4];
#pragma unroll
    for (int r = 0; r < MR; r++)
#pragma unroll
        for (int c = 0; c < 4; c++)
            done[r][c] = alpha * sum[r][c];
    const int y6 = y_step.s6 * dims[y_set.s6], y7 = y_step.s7 * dims[y_set.s7], n = panel * 64;
    y += y0 + i * y_step.s5 * dims[y_set.s5] + j * y_step.s4 * dims[y_set.s4] + l * y_step.s3 * dims[y_set.s3];
    for (int r = 0; r < min(MR, M - m); r++) {
        __global ELEMENT(Y_DTYPE) *out = y + (m + r) * y6 + n * y7;
#if Y_DTYPE == TSR_DTYPE_F32
        if (y7 == 1 && n + 64 <= N) {
            for (int c = 0; c < 4; c++)
                vstore16(done[r][c], c, out);
            continue;
        }
#endif
        float one[64];
        for (int c = 0; c < 4; c++)
            vstore16(done[r][c], c, one);
        for (int c = 0; c < 64 && n + c < N; c++)
            STORE(Y_DTYPE, out, c * y7, one[c]);
    }
}

#undef MR
#undef A_DTYPE
#undef Y_DTYPE
#undef TRANS_A
#undef B_DTYPE
#undef TRANS_B
