/* kl_divergence_grad/group.cl - kl_divergence_grad/plain by a work-group for each row.
 *
 *   grid    (GROUP, R) in work-groups of GROUP x 1; work-item i has elements i, i + GROUP, ..
 *   operands, ignored, build as kl_divergence_grad/plain; and SUB_GROUPS 0|1
 *   alias   dlogits may be logits or addend: each element belongs to one work-item
 *   adds    over kl_divergence_grad/plain: GROUP work-items share a row
 *   order   as kl_divergence/row_group.clh
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
 *           plain          71431      0.7    1.00     14542      3.4    1.00
 *           group          47875      1.0    1.49     22791      2.2    0.64
 *           sub_groups         -        -       -     16771      2.9    0.87 */
#include "kl_divergence/row_group.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) SUB_SIZE void
KERNEL(__global const float *logits, int logits0, __global const int *targets, int targets0,
       __global const float *teacher, int teacher0, __global const float *scale, int scale0,
       __global const float *addend, int addend0, __global float *dlogits, int dlogits0, __global const int *dims,
       int R, int R_set, int V, int row, int teacher_row, int addend_row, int d_row, float temperature)
{
    __local float share[GROUP];
    const int lane = (int)get_local_id(0), r = (int)get_global_id(1), n = V;
#include "kl_divergence_grad/begin.clh"
#include "kl_divergence/logs.clh"
    for (int v = lane; v < V; v += GROUP) {
#include "kl_divergence_grad/slope.clh"
    }
}

#undef SUB_SIZE
#undef BLOCK
#undef LOG_SUM
