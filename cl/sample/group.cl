/* sample/group.cl - sample/plain for GPUs: a work-group has a row, and each of its work-items the sum of
 * a stretch of entries.
 *
 *   grid    (GROUP, R) in work-groups of GROUP x 1
 *   operands, exact  as sample/plain
 *   adds    over sample/plain: for k = 40 three exponentials a work-item follow one another, in place
 *           of 120; all work-items read the row at once
 *   needs   a work-group of GROUP, 8 * GROUP + 8 bytes of local memory
 *   avoids  a return before the barriers, which pocl 3.1 compiles wrongly even where all work-items of
 *           a work-group take it
 *   build   GROUP, a power of two
 *   claims  waves 6; scratch 0
 *   paid    GPUs: compiled, never run: registers 39 (gfx906), 38 (gfx942), 29 (gfx1030), 37 (sm_90).
 *           sample/plain has the figures of a CPU */
#include "sample/weight.clh"
#define SHARE(sum, of) (((sum) >> 32) * (of) + mul_hi((uint)(sum), (uint)(of)))

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
KERNEL(__global const float *values, int values0, __global const int *indices, int indices0, __global const float *rate,
       int rate0, __global const int *settings, int settings0, __global int *y, int y0, __global const int *dims, int k)
{
    __local ulong share[GROUP];
    __local ulong kept;
    const int lane = (int)get_local_id(0), r = (int)get_global_id(1);
    values += values0 + r * k;
    indices += indices0 + r * k;
    settings += settings0 + r * 4;
    const float factor = rate[rate0 + r], largest = values[0];
    const int top_k = settings[0], n = top_k > 0 && top_k < k ? top_k : k;
    const uint top_p = (uint)settings[1], min_p = (uint)settings[2], random = (uint)settings[3];
    const int each = (n + GROUP - 1) / GROUP, begin = min(lane * each, n), end = min(begin + each, n);
    ulong own = 0;
    for (int i = begin; i < end; i++)
        own += DRAW_WEIGHT(values[i], largest, factor);

    /* share[lane] becomes the sum of this and all work-items before it */
    share[lane] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < GROUP; step *= 2) {
        const ulong more = lane >= step ? share[lane - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        share[lane] += more;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const ulong before = share[lane] - own, all = share[GROUP - 1],
                most = top_p < 0xffffffffu ? SHARE(all, top_p) : 0xffffffffffffffffUL;
    barrier(CLK_LOCAL_MEM_FENCE);

    /* The first entry that is not kept: the largest of the numbers n - i, over all work-items */
    ulong sum = before, until = all, left = 0;
    for (int i = begin; i < end && !left; i++) {
        const uint weight = DRAW_WEIGHT(values[i], largest, factor);
        if (i > 0 && (weight < min_p || sum >= most)) {
            left = (ulong)(n - i);
            until = sum;
        }
        sum += weight;
    }
    const ulong mine = left;
    GROUP_LARGEST(left, share)
    if (left ? mine == left : lane == 0)
        kept = until;
    barrier(CLK_LOCAL_MEM_FENCE);

    const ulong drawn = SHARE(kept, random);
    if (factor == 0.0f || !isfinite(largest)) {
        if (lane == 0)
            y[y0 + r] = isfinite(largest) ? indices[0] : isnan(largest) ? -1 : largest > 0.0f ? -3 : -2;
    } else if (drawn >= before && drawn < before + own) {
        int i = begin;
        for (sum = before + DRAW_WEIGHT(values[i], largest, factor); sum <= drawn && i < end - 1;)
            sum += DRAW_WEIGHT(values[++i], largest, factor);
        y[y0 + r] = indices[i];
    }
}

#undef SHARE
