/* linear/few_float.cl - linear/tiled for up to 8 rows of x, as in decoding, and weights of f32, f16, bf16
 * or wide blocks: what counts is how fast the weight is read.
 *
 *   grid    (N/OUTPUTS * OUTPUTS * PARTS) in work-groups of OUTPUTS * PARTS (matmul/few_float.clh)
 *   x       as linear/plain, rows that begin at multiples of four
 *   w       w[n,k] at w0 + n*K + k; rows of multiples of 16 bytes
 *   adds    over skinny: each work-item reads 16 bytes at once, beside its neighbours', and has STEPS times
 *           that under way while the products of the step before are added
 *   order   as linear/plain, ascending k: the same bytes, in any batch
 *   needs   a work-group of OUTPUTS * PARTS and KIB KiB of local memory
 *   build   W_DTYPE f32|f16|bf16 or of wide blocks, BIAS_DTYPE; HAS_BIAS, HAS_RESIDUAL; ACT; ROWS 1|2|4|8, as many
 *           as x has at most; STEPS: DEPTH, or as many as KIB KiB of local memory allow; NORM 0|1
 *   tune    OUTPUTS rows of the weight and PARTS work-items for each; DEPTH pieces that each reads at once;
 *           KIB
 *   claims  loads 128
 *   paid    GPUs: compiled, never run (docs/gpu.md) */
#include "weighted/norm.clh"
#include "matmul/pieces.clh"
#include "matmul/pieces_wide.clh"
#define GATES 1
#define WEIGHT_ROW(n, g) (n)

__kernel __attribute__((reqd_work_group_size(OUTPUTS * PARTS, 1, 1))) void
KERNEL(__global const float *x, int x0, __global const ELEMENT(W_DTYPE) *w, int w0,
       __global const ELEMENT(BIAS_DTYPE) *bias, int bias0, __global const float *residual, int residual0,
       __global float *y, int y0, __global const int *dims, int R, int R_set, int N, int depth, int x_row, int residual_row,
       int y_row NORM_HERE)
{
    const int rows = SIZE(R), outputs = N;
    x += x0;
    w += w0;
#include "matmul/few_float.clh"
#pragma unroll
    for (int own = 0; own < OWN; own++) {
        const int m = RESULT(own) / SHARE, n = first_output + REST(RESULT(own), SHARE);
        if (m < rows && n < N) {
            float v = sum[own][0];
#include "linear/finish_one.clh"
        }
    }
}

#include "matmul/few_float_end.clh"
