/* topk/each_part.cl - the kept largest of each part of a row, in order, and the sum of the part's
 * exponentials, for topk/parts.
 *
 *   grid    (ceil(V / EACH), R) in work-groups of GROUP x 1, each a part of GROUP * EACH elements;
 *           work-item i has elements i, i + GROUP, ..: neighbours read neighbouring words
 *   x[r,v]  at x0 + r*x_row + v
 *   best[r,part]  kept + 1 words, kept a power of two: the largest with their indices, as
 *           argmax/rank.clh has them, 0 where the part has fewer; then one with the part's maximum m
 *           in its lower half, and the sum of exp(x - m) in its upper one
 *   order   a work-item adds its own elements upwards; a tree of halves adds theirs
 *   memory  each work-item asks for its EACH elements at once, so the whole row is under way
 *           (argmax/each_part.cl has the figures)
 *   needs   a work-group of GROUP, 8 * GROUP * EACH + 4 * GROUP bytes of local memory
 *   build   X_DTYPE; HAS_LSE; GROUP, EACH powers of two
 *   claims  waves 2; scratch 0
 *   paid    topk/parts.cl has the figures of both */
#include "argmax/rank.clh"
#include "topk/bitonic.clh"
#define PART (GROUP * EACH)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
KERNEL(__global const ELEMENT(X_DTYPE) *x, int x0, __global ulong *best, __global const int *dims, int V, int V_set,
       int x_row, int kept)
{
    __local ulong s[PART];
    const int lane = (int)get_local_id(0), part = (int)get_global_id(0) / GROUP, r = (int)get_global_id(1);
    const int n = SIZE(V), parts = (n + PART - 1) / PART, first = part * PART + lane;
    x += x0 + r * x_row;
    best += (r * parts + part) * (kept + 1);

    float own[EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++)
        own[i] = LOAD(X_DTYPE, x, min(first + i * GROUP, n - 1));
#pragma unroll
    for (int i = 0; i < EACH; i++)
        s[i * GROUP + lane] = first + i * GROUP < n ? RANKED(own[i], first + i * GROUP) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    SORT_RUNS(PART)
    KEEP_RUN(PART)
    for (int i = lane; i < kept; i += GROUP)
        best[i] = s[i];

#if HAS_LSE
    __local float share[GROUP];
    const float top = LOAD(X_DTYPE, x, RANKED_INDEX(s[0]));
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < EACH; i++)
        if (first + i * GROUP < n)
            sum = ORDERED_ADD(tsr_exp_float(own[i] - top), sum);
    GROUP_SUM(0, sum, share);
    if (lane == 0)
        best[kept] = (ulong)as_uint(top == -INFINITY ? 0.0f : sum) << 32 | as_uint(top);
#endif
}

#undef PART
#undef KEEP_RUN
#undef SORT_RUNS
#undef MERGE_RUNS
#undef EXCHANGE
