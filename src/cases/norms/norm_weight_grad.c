/* cases/norms/norm_weight_grad.c - the cases of norm_weight_grad. */
#include "cases/cases.h"

/* For the terms of dweight, x is positive, means are negative and scales are positive, so that
 * x - mean is |x| + |mean|, and only dy has both signs. */
static tsri_case *add(tsri_case_list *list, int64_t B, int64_t T, int64_t C, bool bias,
                      const char *what) {
    static const int32_t stats[] = {-1, 2, -3, 1, 0, 3, -2, 5, -1, 1, 0, 4, -5, 2};
    tsri_case *c =
        tsri_case_add(list, TSR_OP_NORM_WEIGHT_GRAD, "R=%lldx%lld C=%lld%s%s", (long long)B,
                      (long long)T, (long long)C, bias ? " bias" : "", what);
    tsri_case_operand *x =
        tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(C));
    x->low = 0;
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(C))
        ->absolute = true;
    tsri_case_operand *rows =
        tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(2));
    rows->fill = TSRI_CASE_LIST;
    rows->n_list = (int)(sizeof stats / sizeof *stats);
    for (int i = 0; i < rows->n_list; i++)
        rows->list[i] = stats[i];
    c->sizes[0] = B;
    c->sizes[1] = T;
    c->want = bias ? 2 : 0;
    for (int i = 0; i < 2; i++) {
        c->bound[i].terms = (double)(B * T + 4) * TSRI_CASE_U;
        c->bound[i].absolute = TSRI_CASE_TINY;
    }
    tsri_case_reason(c, "(R + 4) u sum|terms|: sums of R = %lld terms, three roundings each",
                     (long long)(B * T));
    return c;
}

void tsri_cases_norm_weight_grad(tsri_case_list *list) {
    static const int64_t shapes[][3] = {{2, 5, 17},   {1, 1, 1},    {1, 7, 64},  {1, 63, 65},
                                        {1, 64, 63},  {5, 13, 48},  {1, 129, 1}, {3, 67, 130},
                                        {1, 192, 16}, {1, 193, 257}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        add(list, shapes[i][0], shapes[i][1], shapes[i][2], i % 2 == 0, "");
    add(list, 2, 0, 33, true, " no rows")->sparse = true;
    tsri_case *c = add(list, 3, 70, 80, true, " from wider rows");
    c->in[0].view = c->in[1].view = TSRI_CASE_SLICED;
    for (int i = 0; i < 2; i++) { /* x[B,T,C] is [B,heads,C] here */
        c = add(list, 41, 5 - 2 * i, 48 + i, i == 0, " heads among others");
        c->in[0].dim[1] = c->in[1].dim[1] = c->in[2].dim[1] = TSRI_CASE_K(5 - 2 * i);
        c->in[0].view = TSRI_CASE_AMONG;
    }
    add(list, 4, 128, 2048, false, "")->timed = true;
    add(list, 4, 128, 2048, true, "")->timed = true;
}
