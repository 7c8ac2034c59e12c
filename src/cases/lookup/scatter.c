/* cases/lookup/scatter.c - the cases of scatter. */
#include "cases/cases.h"

static tsri_case *add(tsri_case_list *list, int64_t R, int64_t N, int64_t C, const char *what) {
    tsri_case *c = tsri_case_add(list, TSR_OP_SCATTER, "R=%lld N=%lld C=%lld%s", (long long)R,
                                 (long long)N, (long long)C, what);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_T, TSRI_CASE_K(C));
    tsri_case_operand *index = tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_I32, 1, TSRI_CASE_N);
    index->fill = TSRI_CASE_INTEGER;
    index->low = 0, index->high = (double)(R - 1);
    tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_N, TSRI_CASE_K(C))->absolute = true;
    c->sizes[1] = R;
    c->sizes[4] = N;
    c->sparse = 2 * N < 3 * R;
    c->bound[0].terms = (double)(N + 1) * TSRI_CASE_U;
    c->bound[0].absolute = TSRI_CASE_TINY;
    tsri_case_reason(c, "(N + 1) u sum|dy|: a sum of up to N = %lld rows", (long long)N);
    return c;
}

void tsri_cases_scatter(tsri_case_list *list) {
    static const int64_t shapes[][3] = {{9, 20, 17},  {1, 1, 1},     {7, 3, 63},
                                        {64, 65, 64}, {65, 16, 65},  {3, 130, 48},
                                        {1, 31, 16},  {33, 15, 130}, {100, 17, 257}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        add(list, shapes[i][0], shapes[i][1], shapes[i][2], "");
    add(list, 5, 0, 16, " no rows")->sparse = true;
    tsri_case *c = add(list, 12, 30, 19, ", some numbers outside");
    c->in[1].low = -4, c->in[1].high = 15;
    c = add(list, 12, 30, 19, ", dy from wider rows");
    c->in[2].view = TSRI_CASE_SLICED;
}
