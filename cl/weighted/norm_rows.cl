/* weighted/norm_rows.cl - norms rows of x, for variants of linear and glu_linear on GPUs that multiply floats of
 * many rows.
 *
 *     z[r,k], as norm.clh says
 *
 *   grid    (ROW_GROUP, R) in work-groups of ROW_GROUP x 1: a row each
 *   x[r,k]  at x0 + r*x_row + k; rows begin at multiples of four, and K is one
 *   normed  z[r,k] at r*K + k, in scratch
 *   order   as norm.clh
 *   needs   a work-group of ROW_GROUP, 4 * ROW_GROUP bytes of local memory; nothing beyond OpenCL C 1.1
 *   build   ROW_GROUP, a power of two up to 256
 *   claims  waves 7
 *   paid    GPUs: compiled, never run (docs/gpu.md) */
#include "weighted/norm.clh"
#define GROUP ROW_GROUP
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
KERNEL(__global const float *x, int x0, __global float *normed, int K, int x_row NORM_HERE)
{
    __local float share[GROUP];
    const int lane = (int)get_local_id(0), r = (int)get_global_id(1);
    __global const float4 *row = (__global const float4 *)(x + x0 + r * x_row);
    __global float4 *z = (__global float4 *)(normed + r * K);
    float by;
    NORM_BY(row, K / 4, share, by)
    for (int four = lane; four < K / 4; four += GROUP)
        z[four] = NORMED(row[four], by, ((__global const float4 *)(norm + norm0))[four]);
}
#undef GROUP
#undef NORM_HERE
