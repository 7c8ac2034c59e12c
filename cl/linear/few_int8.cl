/* linear/few_int8.cl - linear/tiled_int8 for up to 8 rows of x, as in decoding: what counts is how fast the
 * weight is read.
 *
 *   grid    (N/32 * 32 * SPLIT) in work-groups of 32 * SPLIT (matmul/few_int8.clh)
 *   x       DIRECT: as linear/plain, rows of multiples of four; else in scratch, as quantise_rows.cl left it
 *   w       as panels32_blocks (panels32.clh); y, residual as linear/tiled
 *   adds    over linear/tiled_int8: each work-item reads 16 bytes at once (of q2_K 8, of q3_K 8 and 4:
 *           all that a block of 32 inputs has), beside its neighbours', and asks for several blocks before it uses the first
 *   order   as linear/plain: the same bytes, in any batch
 *   needs   a work-group of 32 * SPLIT and local memory as matmul/few_int8.clh says: where STEPS is above 1 at
 *           most 16 KiB, q4_K and q5_K 24, q6_K 32; DIRECT up to 20 more; DOT: a compiler with dot products of bytes, which probe/dot.cl tries
 *   build   W_DTYPE of blocks, BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT; DOT 0|1; ROWS 1|2|4|8, as many as x
 *           has at most; STEPS: DEPTH, or as many as local memory allows; DIRECT 0|1, X_WORDS words of local memory
 *           for a row of x; NORM 0|1
 *   tune    SPLIT 1..8 parts of a work-group; DEPTH 1..8 blocks that are asked for at once;
 *           SUB as linear/tiled
 *   claims  loads 128 unless W_DTYPE Q2_K Q3_K; dot
 *   paid    GPUs: compiled, never run (docs/gpu.md) */
#include "weighted/few_x.clh"
#include "matmul/dot.clh"
#include "matmul/pieces_wide.clh"
#include "matmul/sub_size.clh"
#define GATES 1
#define OUTPUT_OF(g) n
#define INSIDE(g) (n < N)

__kernel __attribute__((reqd_work_group_size(32 * SPLIT, 1, 1))) SUB_SIZE void
KERNEL(X_HERE, __global const ELEMENT(W_DTYPE) *w, int w0, __global const ELEMENT(BIAS_DTYPE) *bias,
       int bias0, __global const float *residual, int residual0, __global float *y, int y0, __global const int *dims, int R,
       int R_set, int N, int depth X_ROW, int residual_row, int y_row X_NORM)
{
    const int rows = SIZE(R);
    const int n = (int)get_global_id(0) / (32 * SPLIT) * 32 + REST((int)get_local_id(0), 32);
    w += w0;
#include "matmul/few_int8.clh"
#include "matmul/few_int8_sums.clh"
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        const int m = own * SPLIT + part;
        if (m < rows && n < N) {
            float v = sum[own][0];
#include "linear/finish_one.clh"
        }
    }
}

#include "matmul/few_int8_end.clh"
