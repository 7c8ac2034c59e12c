/* softmax/group.cl - softmax/plain by a work-group for each row.
 *
 *   grid    (GROUP, rows) in work-groups of GROUP x 1; work-item i has elements i, i + GROUP, ..
 *   x, y, bias at any strides, given in elements for the last eight dimensions; 0 repeats
 *           (broadcast)
 *   visible as softmax/plain
 *   alias   y may be x: each element belongs to one work-item
 *   adds    over softmax/plain: GROUP work-items share a row
 *   order   GROUP partial sums, counted from element 0, added by a tree of halves (SUB_GROUPS: by
 *           the driver's functions): a fixed order, the same in any batch
 *   needs   a work-group of GROUP, 4 * GROUP bytes of local memory; SUB_GROUPS: sub-groups, of any
 *           size
 *   build   X_DTYPE, Y_DTYPE, BIAS_DTYPE; BATCH_AXIS 0..6 the position of B among the eight
 *           dimensions; CAUSAL, WINDOW; HAS_PAST, HAS_LEN, HAS_BIAS, HAS_RELATIVE, HAS_SINKS; SUB_GROUPS
 *           0|1
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
 *           B=4 T=256 S=256 causal
 *           plain           1771      3.6    1.00     718.9      8.8    1.00
 *           group           4788      1.3    0.37      1539      4.1    0.47
 *
 *           B=4 T=1 S=1024
 *           plain           99.9      1.0    1.00      81.4      1.2    1.00
 *           group           70.5      1.4    1.42      23.6      4.2    3.45 */
#include "norm/sub_size.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_SIZE void KERNEL(__global const ELEMENT(X_DTYPE) *x, int x0, __global const int *past, int past0,
                     __global const int *len, int len0, __global const ELEMENT(BIAS_DTYPE) *bias, int bias0,
                     __global const float *relative, int relative0, int reach,
                     __global const float *sinks, int sinks0,
                     __global ELEMENT(Y_DTYPE) *y, int y0, __global const int *dims, int R, int R_set, int8 size,
                     int8 size_set, int8 x_step, int8 x_set, int8 bias_step, int8 bias_set, int8 y_step, int8 y_set,
                     float scale)
{
    __local float share[GROUP];
    const int lane = (int)get_local_id(0), row = (int)get_global_id(1);
#include "softmax/row.clh"

    float top = -INFINITY, total = 0.0f;
    for (int s = lane; s < end; s += GROUP)
        top = s >= first ? fmax(top, SCORE(s)) : top;
    GROUP_MAX(SUB_GROUPS, top, share);
#if HAS_SINKS
    top = fmax(top, sinks[sinks0 + n[5]]);
#endif
    top = top == -INFINITY ? 0.0f : top; /* no visible element, a bias of -inf everywhere, or only NaN */
    for (int s = lane; s < end; s += GROUP)
        total = s >= first ? ORDERED_ADD(tsr_exp_float(SCORE(s) - top), total) : total;
    GROUP_SUM(SUB_GROUPS, total, share);
#if HAS_SINKS
    total = ORDERED_ADD(tsr_exp_float(sinks[sinks0 + n[5]] - top), total);
#endif
    const float part = total == 0.0f ? 0.0f : 1.0f / total;
    for (int s = lane; s < S; s += GROUP) {
        const float v = s >= first && s < end ? tsr_exp_float(SCORE(s) - top) * part : 0.0f;
        STORE(Y_DTYPE, y, yi + s * y7, v);
    }
}

#undef SUB_SIZE
#undef SCORE
#undef BIAS
#undef BY_DISTANCE
#undef ROW_AT
