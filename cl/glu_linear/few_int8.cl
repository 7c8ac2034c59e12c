/* glu_linear/few_int8.cl - glu_linear/tiled_int8 for up to 8 rows of x, as linear/few_int8.
 *
 *   grid    (F/32 * 32 * SPLIT) in work-groups of 32 * SPLIT; a work-item has a gate and its up
 *   x       as linear/few_int8; w, y as glu_linear/tiled_int8, w as panels32_blocks
 *   adds, order, needs, build, tune as linear/few_int8
 *   claims  loads 128 unless W_DTYPE Q2_K Q3_K; dot
 *   paid    GPUs: compiled, never run (docs/gpu.md) */
#include "weighted/few_x.clh"
#include "matmul/dot.clh"
#include "matmul/pieces_wide.clh"
#include "matmul/sub_size.clh"
#define GATES 2
#define OUTPUT_OF(g) (n + (g) * F)
#define INSIDE(g) (n < F)

__kernel __attribute__((reqd_work_group_size(32 * SPLIT, 1, 1))) SUB_SIZE void
KERNEL(X_HERE, __global const ELEMENT(W_DTYPE) *w, int w0, __global const ELEMENT(BIAS_DTYPE) *bias,
       int bias0, __global float *y, int y0, __global const int *dims, int R, int R_set, int F, int depth X_ROW, int y_row X_NORM)
{
    const int rows = SIZE(R);
    const int n = (int)get_global_id(0) / (32 * SPLIT) * 32 + REST((int)get_local_id(0), 32);
    w += w0;
#include "matmul/few_int8.clh"
#include "matmul/few_int8_sums.clh"
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        const int m = own * SPLIT + part;
        if (m < rows && n < F) {
            float gate = sum[own][0], up = sum[own][1];
#include "glu_linear/finish_one.clh"
        }
    }
}

#include "matmul/few_int8_end.clh"
