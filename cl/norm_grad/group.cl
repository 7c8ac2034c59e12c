/* norm_grad/group.cl - norm_grad/plain by a work-group for each row.
 *
 *   grid    (GROUP, R) in work-groups of GROUP x 1; work-item i has columns i, i + GROUP, ..:
 *           neighbours read neighbouring words
 *   operands, alias as norm_grad/plain: each element belongs to one work-item
 *   adds    over norm_grad/plain: GROUP work-items share a row
 *   order   GROUP partial sums, added by a tree of halves (SUB_GROUPS: by the driver's functions):
 *           a fixed order
 *   needs   a work-group of GROUP, 4 * GROUP bytes of local memory; SUB_GROUPS: sub-groups, of any
 *           size
 *   build   RMS 0|1; HAS_ADDEND; HAS_STATS; W_DTYPE; SUB_GROUPS 0|1
 *   tune    GROUP 16..256, a power of two; SUB the size of a sub-group: 0 for the driver's choice,
 *           else one that the driver offers and lets a kernel ask for
 *           (cl_intel_required_subgroup_size)
 *   claims  waves 7
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain. Meant for GPUs, where it was not
 *           measured.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           rms T=1 C=2048 addend stats a token
 *           plain           0.79     51.7    1.00      3.12     13.1    1.00
 *           group           3.12     13.2    0.25      0.80     51.1    3.90
 *
 *           layer T=512 C=2048 addend stats a prompt
 *           plain          358.2     46.9    1.00      5406      3.1    1.00
 *           group           1601     10.5    0.22      1944      8.6    2.78 */
#include "norm/sub_size.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_SIZE void
KERNEL(__global const float *x, int x0, __global const ELEMENT(W_DTYPE) *weight, int weight0, __global const float *dy, int dy0,
       __global const float *addend, int addend0, __global float *dx, int dx0, __global float *stats, int stats0,
       __global const int *dims, int R, int R_set, int C, int x_row, int x_group, int x_gap, int dy_row,
       int addend_row, int dx_row, int stats_row, float eps)
{
    __local float share[GROUP];
    const int lane = (int)get_local_id(0), r = (int)get_global_id(1);
    x += x0 + GROUPED_ROW(x, r);
    dy += dy0 + r * dy_row;
    dx += dx0 + r * dx_row;
    weight += weight0;
#define G(c) (dy[c] * LOAD(W_DTYPE, weight, c))

    float mean = 0.0f, square = 0.0f, sum = 0.0f, product = 0.0f;
#if !RMS
    for (int c = lane; c < C; c += GROUP)
        mean = ORDERED_ADD(x[c], mean);
    GROUP_SUM(SUB_GROUPS, mean, share);
    mean /= (float)C;
#endif
    for (int c = lane; c < C; c += GROUP) {
        const float v = x[c] - mean, g = G(c);
        square = fma(v, v, square);
        sum = ORDERED_ADD(g, sum);
        product = fma(g, v, product);
    }
    GROUP_SUM(SUB_GROUPS, square, share);
    GROUP_SUM(SUB_GROUPS, product, share);
#if !RMS
    GROUP_SUM(SUB_GROUPS, sum, share);
#endif
    const float scale = 1.0f / sqrt(square / (float)C + eps);
    const float along = product * scale / (float)C * scale, middle = RMS ? 0.0f : sum / (float)C;
    for (int c = lane; c < C; c += GROUP) {
        const float v = fma(x[c] - mean, -along, G(c) - middle);
#if HAS_ADDEND
        dx[c] = fma(v, scale, addend[addend0 + r * addend_row + c]);
#else
        dx[c] = v * scale;
#endif
    }
#if HAS_STATS
    if (lane == 0) {
        stats[stats0 + r * stats_row] = mean;
        stats[stats0 + r * stats_row + 1] = scale;
    }
#endif
}

#undef G
#undef SUB_SIZE
