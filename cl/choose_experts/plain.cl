/* choose_experts/plain.cl - the k experts that each row takes, and their factors.
 *
 *   grid    (R), one work-item for a row
 *   scores[r,e]  at scores0 + r*scores_row + e; bias [E]; factors and experts [R,k] contiguous
 *   groups  of EACH neighbours, GROUPS of them: how much each counts is computed once for a row, and the
 *           USED best ones are those that fewer than USED others come before
 *   keeps   the best so far, sorted, in the outputs, as topk/plain does: first with their choices, at the end
 *           with their factors
 *   exact   choices and sums of two of them are single additions, so every variant chooses the same
 *   needs   nothing beyond OpenCL C 1.1
 *   build   HAS_BIAS, E, GROUPS, USED, BY_TWO, SHARES
 *   paid    the baseline; not timed on a GPU */
#include "choose_experts/order.clh"

ENTRY KERNEL(PLACE __global const float *scores, int scores0, __global const float *bias, int bias0, __global float *factors,
             int factors0, __global int *experts, int experts0, __global const int *dims, int R, int R_set, int k,
             int scores_row)
{
    const int r = ITEM(0);
    if (r >= SIZE(R))
        return;
    scores += scores0 + r * scores_row;
    bias += bias0;
    factors += factors0 + r * k;
    experts += experts0 + r * k;

#if USED < GROUPS
    float worth[GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        float first = CHOICE(g * EACH), second = -INFINITY;
        for (int e = g * EACH + 1; e < (g + 1) * EACH; e++)
            TAKE_TWO(CHOICE(e), first, second)
        worth[g] = WORTH(first, second);
    }
#endif

    int kept = 0;
    for (int g = 0; g < GROUPS; g++) {
#if USED < GROUPS
        int better = 0;
        for (int o = 0; o < GROUPS; o++)
            better += COMES_BEFORE(worth[o], o, worth[g], g);
        if (better >= USED)
            continue;
#endif
        for (int e = g * EACH; e < (g + 1) * EACH; e++) {
            const float choice = CHOICE(e);
            int at = kept;
            if (kept == k) {
                if (!BEATS(choice, factors[k - 1]))
                    continue;
                at = k - 1;
            } else {
                kept++;
            }
            for (; at > 0 && BEATS(choice, factors[at - 1]); at--) {
                factors[at] = factors[at - 1];
                experts[at] = experts[at - 1];
            }
            factors[at] = choice;
            experts[at] = e;
        }
    }

    float sum = 0.0f;
    for (int i = 0; i < k; i++) {
        factors[i] = scores[experts[i]];
        sum = ORDERED_ADD(factors[i], sum);
    }
#if SHARES
    for (int i = 0; i < k; i++)
        factors[i] = factors[i] / (sum + LEAST_SUM);
#endif
}

#include "choose_experts/forget.clh"
