/* topk/parts.cl - topk/plain for GPUs: a stage (topk/each_part) sorts the largest of each part of a
 * row, and a work-group for each row merges these.
 *
 *     lse[r] = top + log(sum_part s[part] exp(m[part] - top))
 *
 *   grid    (GROUP, R) in work-groups of GROUP x 1
 *   best[r,part]  as topk/each_part leaves it in scratch: kept largest; maximum m and sum s
 *   x[r,v]  at x0 + r*x_row + v; values and indices [R,k] and lse [R] contiguous; k <= kept, a
 *           power of two
 *   adds    over topk/plain: V / EACH work-items share a row, in place of one; one pass over x for the
 *           largest and the sum
 *   exact   plain's values and indices
 *   order   of the sum: parts of GROUP * EACH elements each for itself; work-item i adds parts i,
 *           i + GROUP, ..; a tree of halves adds theirs. It depends on V alone, and is not plain's
 *   needs   a work-group of GROUP, 8 * GROUP * EACH + 4 * GROUP bytes of local memory
 *   build   X_DTYPE; HAS_LSE; GROUP, EACH powers of two
 *   claims  waves 2; scratch 0
 *   paid    GPUs: compiled, never run: registers of the stage 51 (gfx906), 52 (gfx942), 47 (gfx1030),
 *           52 (sm_90), of the kernel 22, 18, 18 and 32. Steps between barriers, for 32,000 elements
 *           and k = 40: 49 in the stage, 63 in the kernel; plain takes more than 32,000 of one
 *           work-item. Forced on 2 Zen 5 cores, pocl 3.1 and Intel's CPU runtime 2026.22, best runs of
 *           tessera verify --bench; ratio: how many times as fast as plain.
 *
 *                                            pocl                      Intel
 *           variant           us     GB/s   ratio        us     GB/s   ratio
 *           R=1 V=32000 k=40
 *           plain           20.2      6.4    1.00      20.2      6.4    1.00
 *           parts          345.2      0.4    0.06     487.1      0.3    0.04
 *
 *           R=8 V=128256 k=40 lse
 *           plain           1393      2.9    1.00     12205      0.3    1.00
 *           parts          64117      0.1    0.02     29884      0.1    0.41 */
#include "argmax/rank.clh"
#include "topk/bitonic.clh"
#define PART (GROUP * EACH)

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
KERNEL(__global const ELEMENT(X_DTYPE) *x, int x0, __global const ulong *best, __global float *values, int values0,
       __global int *indices, int indices0, __global float *lse, int lse0, __global const int *dims, int V, int V_set,
       int k, int x_row, int kept)
{
    __local ulong s[PART];
    const int lane = (int)get_local_id(0), r = (int)get_global_id(1), last = SIZE(V) - 1, parts = last / PART + 1;
    x += x0 + r * x_row;
    best += r * parts * (kept + 1);

    /* As many runs at a time as s has room for; from the second time on, the first is that of the
     * parts before. */
    for (int part = 0, before = 0; part < parts; part += PART / kept - before, before = 1) {
        int n = PART;
        while (n > kept && n / 2 >= (before + parts - part) * kept)
            n /= 2;
        for (int i = lane + before * kept; i < n; i += GROUP) {
            const int run = part + i / kept - before;
            s[i] = run < parts ? best[run * (kept + 1) + (i & (kept - 1))] : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        KEEP_RUN(n)
    }
    for (int i = lane; i < k; i += GROUP) {
        const int v = clamp(RANKED_INDEX(s[i]), 0, last); /* whatever a faulty stage leaves */
        values[values0 + r * k + i] = LOAD(X_DTYPE, x, v);
        indices[indices0 + r * k + i] = v;
    }

#if HAS_LSE
    __local float share[GROUP];
    const float top = LOAD(X_DTYPE, x, clamp(RANKED_INDEX(s[0]), 0, last));
    float total = 0.0f;
    for (int part = lane; part < parts; part += GROUP) {
        const ulong sum = best[part * (kept + 1) + kept];
        total = fma(as_float((uint)(sum >> 32)), tsr_exp_float(as_float((uint)sum) - top), total);
    }
    GROUP_SUM(0, total, share);
    if (lane == 0)
        lse[lse0 + r] = top == -INFINITY ? top : top + log(total);
#endif
}

#undef PART
#undef KEEP_RUN
#undef SORT_RUNS
#undef MERGE_RUNS
#undef EXCHANGE
