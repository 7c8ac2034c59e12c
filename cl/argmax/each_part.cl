/* argmax/each_part.cl - the first largest of each part of a row, for argmax/parts.
 *
 *   grid    (ceil(V / EACH), R) in work-groups of GROUP x 1, each a part of GROUP * EACH elements;
 *           work-item i has elements i, i + GROUP, ..: neighbours read neighbouring words
 *   x[r,v]  at x0 + r*x_row + v
 *   largest[r,part]  the part's first largest with its index, as argmax/rank.clh has them
 *   memory  each work-item asks for its EACH elements at once, so the whole row is under way: 0.13 MB
 *           of 32,000 f32, 0.6 MB of 152,000, where latency times bandwidth is 0.3 MB (A770), 2 MB
 *           (H100) or 4 MB (MI300X). One row is too small for more
 *   needs   a work-group of GROUP, 8 * GROUP bytes of local memory
 *   build   X_DTYPE; GROUP, EACH
 *   claims  waves 8; scratch 0
 *   paid    argmax/parts.cl has the figures of both */
#include "argmax/rank.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
KERNEL(__global const ELEMENT(X_DTYPE) *x, int x0, __global ulong *largest, __global const int *dims, int V, int V_set,
       int x_row)
{
    __local ulong share[GROUP];
    const int lane = (int)get_local_id(0), part = (int)get_global_id(0) / GROUP, r = (int)get_global_id(1);
    const int n = SIZE(V), parts = (n + GROUP * EACH - 1) / (GROUP * EACH), first = part * GROUP * EACH + lane;
    x += x0 + r * x_row;

    float own[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++)
        own[i] = LOAD(X_DTYPE, x, min(first + i * GROUP, n - 1)); /* past the end the last one again */
    ulong best = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++)
        best = max(best, RANKED(own[i], min(first + i * GROUP, n - 1)));
    GROUP_LARGEST(best, share);
    if (lane == 0)
        largest[r * parts + part] = best;
}
