/* argmax/parts.cl - argmax/plain for GPUs: a stage (argmax/each_part) finds the first largest of each
 * part of a row, and a work-group for each row finds the first largest of these.
 *
 *   grid    (GROUP, R) in work-groups of GROUP x 1
 *   largest[r,part]  as argmax/each_part leaves it in scratch; y contiguous
 *   adds    over argmax/plain: V / EACH work-items share a row, in place of one
 *   exact   plain's index: the largest of ranks doesn't depend on their order
 *   needs   a work-group of GROUP, 8 * GROUP bytes of local memory
 *   build   GROUP, EACH
 *   claims  waves 8; scratch 0
 *   paid    GPUs: compiled, never run: registers of the stage 30 (gfx906), 47 (gfx942), 56 (gfx1030),
 *           32 (sm_90), of the kernel at most 22. plain takes 32,000 steps of one work-item there.
 *           Forced on 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of tessera
 *           verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           R=1 V=32000
 *           plain           11.6     11.1    1.00      11.6     11.0    1.00
 *           parts           48.4      2.6    0.24      14.5      8.8    0.80
 *
 *           R=8 V=128256
 *           plain          375.2     10.9    1.00     382.1     10.7    1.00
 *           parts          852.2      4.8    0.44     517.9      7.9    0.74 */
#include "argmax/rank.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
KERNEL(__global const ulong *largest, __global int *y, int y0, __global const int *dims, int V, int V_set)
{
    __local ulong share[GROUP];
    const int lane = (int)get_local_id(0), r = (int)get_global_id(1);
    const int parts = (SIZE(V) + GROUP * EACH - 1) / (GROUP * EACH);
    ulong best = 0;
    for (int part = lane; part < parts; part += GROUP)
        best = max(best, largest[r * parts + part]);
    GROUP_LARGEST(best, share);
    const uint rank = (uint)(best >> 32); /* of NaN 0 */
    if (lane == 0)
        y[y0 + r] = rank == 0u                    ? -1
                    : rank <= tsr_rank(-INFINITY) ? -2
                    : rank >= tsr_rank(INFINITY)  ? -3
                                                  : RANKED_INDEX(best);
}
