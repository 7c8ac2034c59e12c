/* experts/few_int8.cl - the products of experts/plain with int8 products for up to 8 rows, as in decoding: what counts
 * is how fast the weights are read.
 *
 *   grid    (N/32 * 32 * SPLIT, P) in work-groups of 32 * SPLIT (matmul/few_int8.clh): 32 outputs (GATED: gates and
 *           their ups) of all pairs of an expert, ROWS at a time; the first pair of an expert takes the others with
 *           it. ROWS 1: of one pair each, because experts of one row differ
 *   x       DIRECT: as experts/plain, rows of multiples of four; else in scratch, as quantise_rows.cl left it
 *   w       as panels32_blocks (panels32.clh), one expert after the other; experts, y as experts/plain
 *   adds    over experts/plain: x is quantised once, not for every output; as linear/few_int8 over linear/plain
 *   order   as experts/plain: the same bytes, whatever experts other rows take
 *   needs   a work-group of 32 * SPLIT; local memory as matmul/few_int8.clh says, with ROWS above 1 as
 *           experts/pair_list.clh says, and 4 * ROWS: at most 16 KiB where STEPS is above 1; DOT: a compiler with dot
 *           products of bytes, which probe/dot.cl tries
 *   build   W_DTYPE of blocks, BIAS_DTYPE; HAS_BIAS, GATED; ACT; DOT 0|1; ROWS 1|2|4; STEPS: DEPTH, or as many as local
 *           memory allows; DIRECT 0|1, X_WORDS words of local memory for a row of x; FIRST_EXPERT as experts/plain
 *   tune    SPLIT 1..8 parts of a work-group; DEPTH 1..8 blocks that are asked for at once;
 *           SUB as linear/tiled
 *   claims  waves 2; loads 128 unless W_DTYPE Q2_K Q3_K; dot
 *   paid    GPUs: compiled, never run (docs/gpu.md) */
#include "weighted/few_x.clh"
#include "matmul/dot.clh"
#include "matmul/pieces_wide.clh"
#include "matmul/sub_size.clh"
#if GATED
#define GATES 2
#else
#define GATES 1
#endif
#define OUTPUT_OF(g) (first_n + n + (g) * N)
#define INSIDE(g) (n < N)
#define ROW_OF(r) row_of[r]
#define HAS_RESIDUAL 0
#define BY_PAIR 1

__kernel __attribute__((reqd_work_group_size(32 * SPLIT, 1, 1))) SUB_SIZE void
KERNEL(X_HERE, __global const ELEMENT(W_DTYPE) *w, int w0, __global const int *experts, int experts0,
       __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0, __global const int *dims, int P,
       int P_set, int E, int N, int depth, int share X_ROW, int y_row)
{
    __local int row_of[ROWS];
    const int pairs = SIZE(P), item = (int)get_global_id(1), self = (int)get_local_id(0);
    const int n = (int)get_global_id(0) / (32 * SPLIT) * 32 + REST(self, 32);
    experts += experts0;
    w += w0;
#include "experts/pair_list.clh"
    const int first_n = own_e * N * GATES;
    bias0 += first_n;
#include "matmul/few_int8.clh"
    for (;;) {
        int have;
        NEXT_PAIRS(have)
        if (have == 0)
            break;
        const int rows = min(have, ROWS);
        if (self < rows)
            row_of[self] = PAIR(self) / share;
        barrier(CLK_LOCAL_MEM_FENCE);
#include "matmul/few_int8_sums.clh"
#pragma unroll
        for (int own = 0; own < OWN; own++) {
            const int row = own * SPLIT + part;
            if (row < rows && n < N) {
                const int m = PAIR(row);
#if GATED
                float gate = sum[own][0], up = sum[own][1];
#else
                float v = sum[own][0];
#endif
#include "experts/finish_one.clh"
            }
        }
        DROP_PAIRS(have)
    }
}

#include "experts/pair_list_end.clh"
#include "matmul/few_int8_end.clh"
#undef BY_PAIR
#undef HAS_RESIDUAL
