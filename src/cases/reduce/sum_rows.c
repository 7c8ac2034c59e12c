/* cases/reduce/sum_rows.c - the cases of sum_rows. */
#include "cases/cases.h"

static tsri_case *add(tsri_case_list *list, int64_t B, int64_t T, int64_t C, const char *what) {
    tsri_case *c = tsri_case_add(list, TSR_OP_SUM_ROWS, "R=%lldx%lld C=%lld%s", (long long)B,
                                 (long long)T, (long long)C, what);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(C))
        ->absolute = true;
    c->sizes[0] = B;
    c->sizes[1] = T;
    c->bound[0].terms = (double)(B * T + 1) * TSRI_CASE_U;
    c->bound[0].absolute = TSRI_CASE_TINY;
    tsri_case_reason(c, "(R + 1) u sum|x|: a sum of R = %lld terms", (long long)(B * T));
    return c;
}

void tsri_cases_sum_rows(tsri_case_list *list) {
    static const int64_t shapes[][3] = {{2, 5, 17},   {1, 1, 1},    {1, 7, 64},  {1, 63, 65},
                                        {1, 64, 63},  {5, 13, 48},  {1, 129, 1}, {3, 67, 130},
                                        {1, 192, 16}, {1, 193, 257}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        add(list, shapes[i][0], shapes[i][1], shapes[i][2], "");
    add(list, 2, 0, 33, " no rows")->sparse = true;
    add(list, 3, 70, 80, " from wider rows")->in[0].view = TSRI_CASE_SLICED;
    tsri_case *c = add(list, 2, 100, 66, " integers");
    c->in[0].fill = TSRI_CASE_INTEGER;
    c->in[0].low = -9, c->in[0].high = 9;
    c->bound[0] = (tsri_case_bound){0};
    tsri_case_reason(c, "exact: sums of integers");
    add(list, 4, 128, 2048, "")->timed = true;
}
