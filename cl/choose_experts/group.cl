/* choose_experts/group.cl - choose_experts/plain for GPUs: a work-group has a row, and each work-item some of
 * its experts.
 *
 *   grid    (GROUP, R) in work-groups of GROUP x 1
 *   operands, exact, build  as choose_experts/plain; GROUP
 *   adds    over choose_experts/plain: choices are read once, into local memory. An expert's place is the
 *           number of those that come before it, so the work-items don't wait for each other: E * E / GROUP
 *           comparisons in a row, 1,024 for 256 experts
 *   needs   a work-group of GROUP, 8 * (E + GROUPS) bytes of local memory
 *   avoids  a return before the barriers, which pocl 3.1 compiles wrongly even where all work-items of
 *           a work-group take it
 *   paid    GPUs: compiled, never run */
#include "choose_experts/order.clh"

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
KERNEL(__global const float *scores, int scores0, __global const float *bias, int bias0, __global float *factors,
       int factors0, __global int *experts, int experts0, __global const int *dims, int k, int scores_row)
{
    __local float choices[E], worth[GROUPS], taken[E];
    __local int used[GROUPS];
    const int lane = (int)get_local_id(0), r = (int)get_global_id(1);
    scores += scores0 + r * scores_row;
    bias += bias0;
    for (int e = lane; e < E; e += GROUP)
        choices[e] = CHOICE(e);
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int g = lane; USED < GROUPS && g < GROUPS; g += GROUP) {
        float first = choices[g * EACH], second = -INFINITY;
        for (int e = g * EACH + 1; e < (g + 1) * EACH; e++)
            TAKE_TWO(choices[e], first, second)
        worth[g] = WORTH(first, second);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int g = lane; g < GROUPS; g += GROUP) {
        int better = 0;
        for (int o = 0; USED < GROUPS && o < GROUPS; o++)
            better += COMES_BEFORE(worth[o], o, worth[g], g);
        used[g] = better < USED;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int e = lane; e < E; e += GROUP) {
        int before = 0; /* of the groups that are used */
        for (int g = 0; g < GROUPS; g++)
            for (int o = g * EACH; used[g] && o < (g + 1) * EACH; o++)
                before += COMES_BEFORE(choices[o], o, choices[e], e);
        if (used[e / EACH] && before < k) {
            experts[experts0 + r * k + before] = e;
            taken[before] = scores[e];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    float sum = 0.0f;
    for (int i = 0; SHARES && i < k; i++)
        sum = ORDERED_ADD(taken[i], sum);
    for (int i = lane; i < k; i += GROUP)
        factors[factors0 + r * k + i] = SHARES ? taken[i] / (sum + LEAST_SUM) : taken[i];
}

#include "choose_experts/forget.clh"
