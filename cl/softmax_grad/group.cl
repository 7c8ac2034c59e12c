/* softmax_grad/group.cl - softmax_grad/plain by a work-group for each row.
 *
 *   grid    (GROUP, rows) in work-groups of GROUP x 1; work-item i has elements i, i + GROUP, ..
 *   operands, alias as softmax_grad/plain: each element belongs to one work-item
 *   adds    over softmax_grad/plain: GROUP work-items share a row
 *   order   GROUP partial sums, added by a tree of halves (SUB_GROUPS: by the driver's functions):
 *           a fixed order
 *   needs   a work-group of GROUP, 4 * GROUP bytes of local memory; SUB_GROUPS: sub-groups, of any
 *           size
 *   build   SUB_GROUPS 0|1
 *   tune    GROUP 16..256, a power of two; SUB the size of a sub-group, 0: the driver's choice
 *   paid    2 Zen 4 cores beside other work, pocl 3.1 and Intel's CPU runtime 2026.2, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain. Meant for GPUs, where
 *           it was not measured.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=4 T=256 S=256 scale 0.125
 *           plain           1686      5.6    1.00      1091      8.6    1.00
 *           group           4271      2.2    0.39      1395      6.8    0.78
 *           sub_groups         -        -       -      1952      4.8    0.56 */
#include "norm/sub_size.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_SIZE void
KERNEL(__global const float *y, int y0, __global const float *dy, int dy0, __global float *dx, int dx0,
       __global const int *dims, int R, int R_set, int8 size, int8 size_set, int8 y_step, int8 y_set, int8 dy_step,
       int8 dy_set, int8 dx_step, int8 dx_set, float scale)
{
    __local float share[GROUP];
    const int lane = (int)get_local_id(0), row = (int)get_global_id(1), S = size.s7 * dims[size_set.s7];
#include "softmax_grad/row.clh"

    float sum = 0.0f;
    for (int s = lane; s < S; s += GROUP)
        sum = fma(y[s * y7], dy[s * d7], sum);
    GROUP_SUM(SUB_GROUPS, sum, share);
    for (int s = lane; s < S; s += GROUP)
        dx[s * x7] = scale * y[s * y7] * (dy[s * d7] - sum);
}

#undef SUB_SIZE
#undef ROW_AT
