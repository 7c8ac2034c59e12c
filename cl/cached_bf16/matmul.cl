/* cached_bf16/matmul.cl - y[m,n] = alpha * sum_k a[m,k] b[k,n] (+ beta * y[m,n]) with products of bf16,
 * on CPUs with AVX512-BF16, for one matrix.
 *
 *   grid    (M/each, N/64), exchanged where rows_first is 0, as in matmul/cached; work-groups of one
 *           work-item
 *   b, y    at any strides; scratch has the rows of a as cached_bf16/rows leaves them
 *   adds    over matmul/cached: two products an instruction, and both operands are half as long in the
 *           caches
 *   order   as weighted/bf16.clh says: the same bytes for every number of rows and columns
 *   needs   as weighted/bf16.clh; 128 KiB of private memory for packed b and 66 for sums
 *   build   B_DTYPE; ADD, HAS_BETA as matmul/cached
 *   tune    PAIRS of k of b at once
 *   paid    GFLOP/s on 2 Zen 5 cores that were shared with other work, pocl 3.1 (tessera verify --bench
 *           --op matmul), with the stage; 256x768x768, two runs:
 *
 *                      a b        a' b       a b'
 *           this       348, 358   346, 350   332, 354
 *           cached     211, 210   207, 213   209, 211
 *
 *           Training steps: docs/performance.md */
#ifndef PAIRS
#define PAIRS 512
#endif
#include "weighted/bf16.clh"
#include "cached_bf16/pack.clh"
#ifndef FLOAT16_ANY
#define FLOAT16_ANY /* 16 floats at any address: pocl 3.1 compiles vload16 to four loads and three inserts */
typedef float float16_any __attribute__((ext_vector_type(16), aligned(4)));
#endif

ENTRY_OF_ONE KERNEL(PLACE __global const ELEMENT(B_DTYPE) *b, int b0, __global float *y, int y0,
                    __global const uchar *scratch, __global const int *dims, int M, int M_set, int N, int N_set, int K, int K_set,
                    int bn, int bn_set, int bk, int bk_set, int ym, int ym_set, int yn, int yn_set, float alpha
#if ADD
                    ,
                    __global const float *beta, int beta0
#endif
                    ,
                    int each, int rows_first)
{
    const int columns = SIZE(N), depth = SIZE(K), b_right = SIZE(bn), b_down = SIZE(bk);
    const int down = SIZE(ym), right = SIZE(yn), item0 = ITEM(0), item1 = ITEM(1);
    const int first = (rows_first ? item0 : item1) * each, end = min(first + each, SIZE(M));
    const int n = (rows_first ? item1 : item0) * 64;
    if (first >= end || n >= columns)
        return;
    b += b0;
    y += y0;
#include "matmul/keep.clh"
#define FINISH                                                                                    \
    __global float *out = y + m * down + n * right;                                               \
    if (right == 1 && n + 64 <= columns)                                                                \
        for (int c = 0; c < 4; c++) {                                                             \
            __global float16_any *at = (__global float16_any *)out + c;                           \
            *at = KEPT(alpha * ((const float16 *)sum)[c], *at);                                   \
        }                                                                                         \
    else                                                                                          \
        for (int c = 0; c < 64 && n + c < columns; c++)                                                 \
            out[c * right] = KEPT(alpha * sum[c], out[c * right]);
#include "cached_bf16/product.clh"
#undef FINISH
}

#undef PAIRS
#undef KEPT
