/* weighted/quantise_rows.cl - quantises rows of x to 8-bit integers, for the int8 variants of linear
 * and glu_linear on GPUs; with NORM rows of z, the normed x (norm.clh).
 *
 *     q[r,k] and down[r,b], the factor of block b of row r, as quantise.clh says; and MINIMA times less[r,b]
 *
 *   grid    (ROW_GROUP, R) in work-groups of ROW_GROUP x 1: a row each
 *   x[r,k]  at x0 + r*x_row + k; K a multiple of 32; with NORM, rows begin at multiples of four
 *   packed  q[r, 4w .. 4w + 3] in the bytes of word r*ROW_WORDS(K, MINIMA) + w, the first in the lowest
 *           byte; down[r,b] in word K/4 + b of the row; less[r,b] in word K/4 + K/32 + b, that of a block's second
 *           part in word K/4 + 2 * K/32 + b, K a multiple of 128
 *   needs   a work-group of ROW_GROUP; with NORM, 4 * ROW_GROUP bytes of local memory; nothing beyond
 *           OpenCL C 1.1
 *   build   NORM 0|1; MINIMA 0|1|2, how many minima the weight has for a block
 *   tune    ROW_GROUP 64..256, a power of two; the bytes don't depend on it
 *   claims  waves 3
 *   paid    its time is part of the figures of linear/tiled_int8 and glu_linear/tiled_int8, the
 *           variants that it precedes; it was not timed alone */
#include "weighted/norm.clh"
#include "weighted/quantise.clh"
#define GROUP ROW_GROUP
#if GROUP & (GROUP - 1)
#error "ROW_GROUP is a power of two"
#endif
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
KERNEL(__global const float *x, int x0, __global uint *packed, __global const int *dims, int K, int x_row NORM_HERE)
{
    const int lane = (int)get_local_id(0), r = (int)get_global_id(1);
    x += x0 + r * x_row;
    packed += r * ROW_WORDS(K, MINIMA);
#if NORM
    __local float share[GROUP];
#define FOUR(i) NORMED(((__global const float4 *)x)[block * 8 + (i)], by, ((__global const float4 *)(norm + norm0))[block * 8 + (i)])
    float by;
    NORM_BY((__global const float4 *)x, K / 4, share, by)
#else
#define FOUR(i) vload4(block * 8 + (i), x)
#endif
    for (int block = lane; block < K / 32; block += GROUP) {
        float down, less[2];
        QUANTISE_BLOCK(FOUR, packed + block * 8, down, less, MINIMA == 2 ? 2 : 1)
        packed[K / 4 + block] = as_uint(down);
        for (int p = 0; p < MINIMA; p++)
            packed[K / 4 + (1 + p) * (K / 32) + block] = as_uint(less[p]);
    }
}
#undef GROUP
#undef FOUR
#undef NORM_HERE
