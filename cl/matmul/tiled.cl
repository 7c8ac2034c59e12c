/* matmul/tiled.cl - y[m,n] = alpha * sum_k a[m,k] b[k,n] (+ beta * y[m,n]), for every matrix of up
 * to three leading dimensions, by work-groups that share local memory.
 *
 *   grid    (N/TN, M/TM, matrices) in work-groups of GN x GM x 1: a tile of GM*TM by GN*TN
 *           (matmul/tile.clh)
 *   a, b, y at any strides, given in elements for the last five dimensions; 0 repeats (broadcast)
 *   adds    over matmul/plain: each element is read from global memory once for a whole tile
 *   order   as matmul/plain, ascending k: the same bytes
 *   needs   a work-group of GN*GM and 4 * BLOCKS * BK * (GM*TM + GN*TN + 8) bytes of local memory:
 *           64 work-items and 7 KiB (tiled) or 9 KiB (tiled_64), 256 and 17 KiB (tiled_128)
 *   build   A_DTYPE, B_DTYPE, Y_DTYPE; TRANS_A: a is [..,K,M]; TRANS_B: b is [..,N,K]
 *           ADD: y is a state, which is multiplied by beta first; HAS_BETA: beta[0] is read, else 1
 *           A_ALONG_K, B_ALONG_K 1 where neighbours in k lie side by side, or where no axis has
 *           stride 1
 *           FOUR_A, FOUR_B 1 where four neighbours along that axis can be read at a time
 *   tune    GM, GN, TM, TN, BK, VW, BLOCKS, SUB as linear/tiled
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain. Meant for GPUs, where it was not
 *           measured.
 *
 *                                            pocl                      Intel
 *           variant           us  GFLOP/s   ratio        us  GFLOP/s   ratio
 *           M=256 K=768 N=768
 *           plain          17087     17.7    1.00      7101     42.5    1.00
 *           tiled           9010     33.5    1.90      4194     72.0    1.69
 *
 *           M=256 K=768 N=768 a'
 *           plain          23699     12.7    1.00      7594     39.8    1.00
 *           tiled          14746     20.5    1.61      4624     65.3    1.64
 *
 *           M=256 K=768 N=768 b'
 *           plain          17945     16.8    1.00      7787     38.8    1.00
 *           tiled          10600     28.5    1.69      7075     42.7    1.10
 *   source  Volkov, Demmel 2008, doi:10.1109/SC.2008.5214359 */

#define RUN_A (FOUR_A ? 4 : 1)
#define RUN_B (FOUR_B ? 4 : 1)
#if FOUR_A
#define FETCH_A(to, m, k) FETCH4(A_DTYPE, to, tile_m + (m) < M && (k) < depth, a, (tile_m + (m)) * am + (k) * ak)
#else
#define FETCH_A(to, m, k) \
    (to)[0] = tile_m + (m) < M && (k) < depth ? LOAD(A_DTYPE, a, (tile_m + (m)) * am + (k) * ak) : 0.0f
#endif
#if FOUR_B
#define FETCH_B(to, n, k) FETCH4(B_DTYPE, to, tile_n + (n) < N && (k) < depth, b, (tile_n + (n)) * bn + (k) * bk)
#else
#define FETCH_B(to, n, k) \
    (to)[0] = tile_n + (n) < N && (k) < depth ? LOAD(B_DTYPE, b, (tile_n + (n)) * bn + (k) * bk) : 0.0f
#endif

#include "matmul/tile_type.clh"

__kernel __attribute__((reqd_work_group_size(GN, GM, 1))) SUB_SIZE void
KERNEL(__global const ELEMENT(A_DTYPE) *a, int a0, __global const ELEMENT(B_DTYPE) *b, int b0,
       __global ELEMENT(Y_DTYPE) *y, int y0, __global const int *dims, int8 size, int8 size_set, int8 a_step, int8 a_set,
       int8 b_step, int8 b_set, int8 y_step, int8 y_set, int K, int K_set, float alpha
#if ADD
       ,
       __global const float *beta, int beta0
#endif
)
{
    const int M = size.s6 * dims[size_set.s6], N = size.s7 * dims[size_set.s7], depth = SIZE(K);
    const int tile_n = (int)get_global_id(0) / GN * (GN * TN), tile_m = (int)get_global_id(1) / GM * (GM * TM);
    const int inner = size.s5 * dims[size_set.s5], middle = size.s4 * dims[size_set.s4];
    const int matrix = (int)get_global_id(2);
#include "matmul/place.clh"
#include "matmul/tile.clh"
#include "matmul/tile_sums.clh"

#include "matmul/keep.clh"
#pragma unroll
    for (int r = 0; r < TM; r++)
#pragma unroll
        for (int c = 0; c < TN; c++) {
            const int m = tile_m + OWN_ROW(r), n = tile_n + OWN_COLUMN(c);
            if (m < M && n < N)
                STORE(Y_DTYPE, y, m * y6 + n * y7, KEPT(alpha * sum[r][c], LOAD(Y_DTYPE, y, m * y6 + n * y7)));
        }
}

#include "matmul/tile_end.clh"
#undef KEPT
