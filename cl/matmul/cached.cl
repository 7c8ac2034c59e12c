/* matmul/cached.cl - y[m,n] = alpha * sum_k a[m,k] b[k,n] (+ beta * y[m,n]) on CPUs, for every
 * matrix of up to three leading dimensions.
 *
 *   grid    (M/each, N/64, matrices), the first two exchanged where rows_first is 0; work-groups of
 *           one work-item: `each` rows (at most ROWS) by 64 columns, over all of K. What neighbours
 *           share, 64 columns of b or rows of a, is the larger operand
 *   a, b, y at any strides, given in elements for the last five dimensions; 0 repeats (broadcast)
 *   adds    over matmul/plain: a work-item packs KC x 64 of b into private memory, where it stays
 *           in the second cache for all of its rows, and keeps its sums there while the next KC are
 *           packed
 *   order   as matmul/plain, ascending k: the same bytes
 *   needs   float16 in registers (a CPU); 132 KiB of private memory for packed b and the sums
 *   build   A_DTYPE, B_DTYPE, Y_DTYPE; TRANS_A: a is [..,K,M]; TRANS_B: b is [..,N,K]
 *           ADD: y is a state, which is multiplied by beta first; HAS_BETA: beta[0] is read, else 1
 *   tune    MR 1..7 rows at once: 4 * MR sums, 4 vectors of b and a scalar in 32 registers; KC of b
 *           at once
 *   paid    GFLOP/s on 2 Zen 4 cores, 236 in registers, pocl 3.1 (bench/kernels; plain 13 to 16):
 *
 *           products of training        forward   dx        dw
 *           4 x 128,  768 tokens        179-209   192-214   182-215
 *           6 x 384,  4096 tokens       201-207   202-216   200-216
 *           GPT-2,    256 tokens        203-215   201-210   192-207
 *
 *           Failed: matmul/packed, which packed all of b into scratch first:
 *                                            packed   cached
 *           1024^3                           210      215
 *           12 of 512x512x64                 134      179
 *           12 of 64x64x32                   60       107
 *           16x768x768, b transposed         46       143
 *           1 row                            8        17
 *
 *           Failed: 1536x384x4096 without prefetching what the next rows of a transposed operand
 *           read, 147-185 in place of 212; prefetched into the first cache in place of the second,
 *           204. Products of fewer than 8 columns are left to matmul/plain
 *   source  Goto, van de Geijn 2008, doi:10.1145/1356052.1356053 */
#include "matmul/cached_pack.clh"

ENTRY_OF_ONE KERNEL(PLACE __global const ELEMENT(A_DTYPE) *a, int a0, __global const ELEMENT(B_DTYPE) *b, int b0,
                    __global ELEMENT(Y_DTYPE) *y, int y0, __global const int *dims, int8 size, int8 size_set,
                    int8 a_step, int8 a_set, int8 b_step, int8 b_set, int8 y_step, int8 y_set, int K, int K_set,
                    float alpha
#if ADD
                    ,
                    __global const float *beta, int beta0
#endif
                    ,
                    int each, int rows_first)
{
    const int M = size.s6 * dims[size_set.s6], N = size.s7 * dims[size_set.s7], depth = SIZE(K);
    const int item0 = ITEM(0), item1 = ITEM(1), matrix = ITEM(2);
    const int first = (rows_first ? item0 : item1) * each, end = min(first + each, M);
    const int n = (rows_first ? item1 : item0) * 64;
    const int inner = size.s5 * dims[size_set.s5], middle = size.s4 * dims[size_set.s4];
    const int outer = size.s3 * dims[size_set.s3];
    if (first >= M || n >= N || matrix >= inner * middle * outer)
        return;
#include "matmul/place.clh"
#include "matmul/cached.clh"

#include "matmul/keep.clh"
    for (int m = first; m < end; m++) {
        const float16 *done = sums + (m - first) * 4;
        __global ELEMENT(Y_DTYPE) *out = y + m * y6 + n * y7;
#if Y_DTYPE == TSR_DTYPE_F32
        if (y7 == 1 && n + 64 <= N) {
            __global float16_any *at = (__global float16_any *)out;
#pragma unroll
            for (int c = 0; c < 4; c++)
                at[c] = KEPT(alpha * done[c], at[c]);
            continue;
        }
#endif
        for (int c = 0; c < 64 && n + c < N; c++)
            STORE(Y_DTYPE, out, c * y7, KEPT(alpha * ((const float *)done)[c], LOAD(Y_DTYPE, out, c * y7)));
    }
}

#undef MR
#undef KC
#undef PACK16
#undef KEPT
