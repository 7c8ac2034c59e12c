/* weighted/quantise_rows.cl - quantises rows of x to 8-bit integers, for the int8 variants of linear
 * and glu_linear on GPUs; with NORM rows of z, the normed x (norm.clh).
 *
 *     q[r,k] and down[r], the factor of row r, as quantise.clh says
 *
 *   grid    (ROW_GROUP, R) in work-groups of ROW_GROUP x 1: a row each
 *   x[r,k]  at x0 + r*x_row + k; K a multiple of 4; with NORM, rows begin at multiples of four
 *   packed  q[r, 4w .. 4w + 3] in the bytes of word r*(K/4 + 4) + w, the first in the lowest byte;
 *           down[r] in the word after them. So rows begin at multiples of 16 bytes where K is one of 16
 *   needs   a work-group of ROW_GROUP, 4 * ROW_GROUP bytes of local memory; nothing beyond OpenCL C
 *           1.1
 *   build   NORM 0|1
 *   tune    ROW_GROUP 64..256, a power of two; the bytes don't depend on it
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
    __local float share[GROUP];
    const int lane = (int)get_local_id(0), r = (int)get_global_id(1);
    x += x0 + r * x_row;
    packed += r * (K / 4 + 4);
    float largest = 0.0f;
#if NORM
#define FOUR(word) NORMED(((__global const float4 *)x)[word], by, ((__global const float4 *)(norm + norm0))[word])
    float by;
    NORM_BY((__global const float4 *)x, K / 4, share, by)
#else
#define FOUR(word) vload4(word, x)
#endif
    for (int word = lane; word < K / 4; word += GROUP) {
        const float4 v = fabs(FOUR(word));
        largest = fmax(largest, fmax(fmax(v.x, v.y), fmax(v.z, v.w)));
    }
    GROUP_MAX(0, largest, share);
    const float up = QUANTISE_UP(largest);
    for (int word = lane; word < K / 4; word += GROUP)
        packed[word] = QUANTISE4(FOUR(word), up);
    if (lane == 0)
        packed[K / 4] = as_uint(QUANTISE_DOWN(largest));
}
#undef GROUP
#undef FOUR
#undef NORM_HERE
