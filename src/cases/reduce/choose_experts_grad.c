/* cases/reduce/choose_experts_grad.c - the cases of choose_experts_grad. */
#include "cases/cases.h"

/* Scores are from 1/4 to 1, so their sum is at least k / 4 and is off by (k + 1) u of itself. The sum of k products
 * of numbers up to 1 is off by k u k; the difference, and the division (2.5 ulp), by 6 u of a result of up to
 * (k + 1) / (k / 4), which is 8 at most. */
void tsri_cases_choose_experts_grad(tsri_case_list *list) {
    static const int64_t shapes[][3] = {/* R E k */ {5, 4, 2}, {1, 1, 1},   {3, 8, 8},
                                        {33, 60, 4},           {7, 129, 8}, {0, 5, 2}};
    static const int32_t places[] = {3, 0, 2, 1, 7, 5, 4, 6};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t R = shapes[i][0], E = shapes[i][1], k = shapes[i][2];
        tsri_case *c = tsri_case_add(list, TSR_OP_CHOOSE_EXPERTS_GRAD, "R=%lld E=%lld k=%lld",
                                     (long long)R, (long long)E, (long long)k);
        tsri_case_operand *scores =
            tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_T, TSRI_CASE_K(E));
        scores->low = 0.25;
        scores->high = 1;
        tsri_case_operand *experts =
            tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_T, TSRI_CASE_K(k));
        experts->fill = TSRI_CASE_LIST; /* all k of a row differ */
        experts->n_list = (int)k;
        for (int64_t j = 0; j < k; j++)
            experts->list[j] = E == 1 ? 0 : E <= 8 ? places[j] : (int32_t)(E - 1 - 7 * j);
        for (int operand = 2; operand < 4; operand++)
            tsri_case_in(c, operand, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_T, TSRI_CASE_K(k));
        c->sizes[1] = R;
        c->sparse = 2 * k < E + 1;
        c->bound[0].absolute = ((double)k * 4 + 8 * ((double)k + 7)) * TSRI_CASE_U;
        tsri_case_reason(c, "(4 k + 8 (k + 7)) u: two sums of k terms, a difference and a division "
                            "of numbers up to 8");
    }
}
