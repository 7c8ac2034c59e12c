/* cross_entropy/group.cl - cross_entropy/plain by a work-group for each row.
 *
 *   grid    (GROUP, R) in work-groups of GROUP x 1; work-item i has elements i, i + GROUP, ..
 *   operands, ignored, build as cross_entropy/plain; and SUB_GROUPS 0|1
 *   adds    over cross_entropy/plain: GROUP work-items share a row
 *   order   64 elements of a work-item one after the other, then these sums, then those of the
 *           work-group (common/group.clh)
 *   needs   a work-group of GROUP, 4 * GROUP bytes of local memory; SUB_GROUPS: sub-groups, of any
 *           size
 *   tune    GROUP 16..256, a power of two; SUB the size of a sub-group, 0: the driver's choice
 *   claims  waves 7
 *   paid    2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera verify
 *           --bench; ratio: how many times as fast as plain. Meant for GPUs, where it was not
 *           measured.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=4 T=32 V=32000
 *           plain          12211      1.3    1.00      4401      3.7    1.00
 *           group          12852      1.3    0.95      5195      3.2    0.85 */
#include "norm/sub_size.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_SIZE void
KERNEL(__global const float *logits, int logits0, __global const int *targets, int targets0, __global float *loss,
       int loss0, __global float *lse, int lse0, __global const int *dims, int R, int R_set, int V, int row,
       float smoothing)
{
    __local float share[GROUP];
    const int lane = (int)get_local_id(0), r = (int)get_global_id(1), target = targets[targets0 + r];
    const bool counts = target >= 0 && target < V;
    const int n = counts ? V : 0; /* an ignored row is not read, but all of its work-group reach the barriers */
    logits += logits0 + r * row;
    float top = -INFINITY, total = 0.0f, all = 0.0f;
    for (int v = lane; v < n; v += GROUP)
        top = fmax(top, logits[v]);
    GROUP_MAX(SUB_GROUPS, top, share);
    for (int first = lane; first < n; first += 64 * GROUP) {
        float part = 0.0f, mean = 0.0f;
        for (int v = first; v < min(first + 64 * GROUP, n); v += GROUP) {
            const float d = logits[v] - top;
            part = ORDERED_ADD(tsr_exp_float(d), part);
#if SMOOTH
            mean = ORDERED_ADD(d, mean);
#endif
        }
        total = ORDERED_ADD(part, total);
        all = ORDERED_ADD(mean, all);
    }
    GROUP_SUM(SUB_GROUPS, total, share);
#if SMOOTH
    GROUP_SUM(SUB_GROUPS, all, share);
#endif
    if (lane > 0)
        return;
    const float log_sum = counts ? log(total) : 0.0f, hard = counts ? log_sum - (logits[target] - top) : 0.0f;
#if SMOOTH
    const float soft = counts ? fma(smoothing, log_sum - all / (float)V, (1.0f - smoothing) * hard) : 0.0f;
    loss[loss0 + r] = soft;
#else
    loss[loss0 + r] = hard;
#endif
    lse[lse0 + r] = counts ? top + log_sum : 0.0f;
}

#undef SUB_SIZE
