/* glu_linear/few_float.cl - glu_linear/tiled for up to 8 rows of x, as linear/few_float.
 *
 *   grid    (F/(OUTPUTS/2) * OUTPUTS * PARTS) in work-groups of OUTPUTS * PARTS, which have as many gates as ups
 *   x, w    as linear/few_float; y as glu_linear/tiled
 *   adds, order, needs, build, tune as linear/few_float; a work-item has the two sums of a gate and its up
 *   claims  loads 128
 *   paid    GPUs: compiled, never run (docs/gpu.md) */
#include "weighted/norm.clh"
#include "matmul/pieces.clh"
#include "matmul/pieces_wide.clh"
#define GATES 2
#define WEIGHT_ROW(n, g) ((n) + (g) * F)

__kernel __attribute__((reqd_work_group_size(OUTPUTS * PARTS, 1, 1))) void
KERNEL(__global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
       __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global float *y, int y0, __global const int *dims, int R, int R_set,
       int F, int depth, int x_row, int y_row NORM_HERE)
{
    const int rows = SIZE(R), outputs = F;
    x += x0;
    w += w0;
#include "matmul/few_float.clh"
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        const int m = RESULT(own) / SHARE, n = first_output + REST(RESULT(own), SHARE);
        if (m < rows && n < F) {
            float gate = sum[own][0], up = sum[own][1];
#include "glu_linear/finish_one.clh"
        }
    }
}

#include "matmul/few_float_end.clh"
