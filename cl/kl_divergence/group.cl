/* kl_divergence/group.cl - kl_divergence/plain by a work-group for each row.
 *
 *   grid    (GROUP, R) in work-groups of GROUP x 1; work-item i has elements i, i + GROUP, ..
 *   operands, ignored, build as kl_divergence/plain; and SUB_GROUPS 0|1
 *   adds    over kl_divergence/plain: GROUP work-items share a row
 *   order   as row_group.clh
 *   needs   a work-group of GROUP, 4 * GROUP bytes of local memory; SUB_GROUPS: sub-groups, of any
 *           size
 *   tune    GROUP 16..256, a power of two; SUB the size of a sub-group, 0: the driver's choice
 *   claims  waves 7
 *   paid    2 Zen 4 cores beside other work, pocl 3.1 and Intel's CPU runtime 2026.2, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain. Meant for GPUs, where
 *           it was not measured.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           B=4 T=32 V=32000
 *           plain          53724      0.6    1.00     19675      1.7    1.00
 *           group          49877      0.7    1.08     20258      1.6    0.97
 *           sub_groups         -        -       -     16825      1.9    1.17 */
#include "kl_divergence/row_group.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_SIZE void
KERNEL(__global const float *logits, int logits0, __global const int *targets, int targets0,
       __global const float *teacher, int teacher0, __global float *loss, int loss0, __global const int *dims, int R,
       int R_set, int V, int row, int teacher_row, float temperature)
{
    __local float share[GROUP];
    const int lane = (int)get_local_id(0), r = (int)get_global_id(1);
#if HAS_TARGETS /* an ignored row is not read, but all of its work-group reach the barriers */
    const int target = targets[targets0 + r], n = target >= 0 && target < V ? V : 0;
#else
    const int n = V;
#endif
#include "kl_divergence/logs.clh"
    float total = 0.0f;
    for (int first = lane; first < n; first += BLOCK) {
        float part = 0.0f;
        for (int v = first; v < min(first + BLOCK, n); v += GROUP) {
#include "kl_divergence/term.clh"
            part = ORDERED_ADD(term, part);
        }
        total = ORDERED_ADD(part, total);
    }
    GROUP_SUM(SUB_GROUPS, total, share);
    if (lane > 0)
        return;
    if (n == 0) {
        loss[loss0 + r] = 0.0f;
        return;
    }
#include "kl_divergence/finish.clh"
}

#undef SUB_SIZE
#undef BLOCK
#undef LOG_SUM
