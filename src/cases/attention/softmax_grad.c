/* cases/attention/softmax_grad.c - the cases of softmax_grad. */
#include "cases/cases.h"

/* y are probabilities, and a row's sum weighs dy by them: |sum| <= sum of y |dy|, off by (S + 2) u
 * of that. The difference and the product of y (dy - sum) are rounded once each, of numbers up to
 * y (|dy| + sum y |dy|). */
static tsri_case *add(tsri_case_list *list, int64_t B, int64_t T, int64_t S, float scale,
                      const char *what) {
    tsri_case *c = tsri_case_add(list, TSR_OP_SOFTMAX_GRAD, "B=%lld T=%lld S=%lld scale %g%s",
                                 (long long)B, (long long)T, (long long)S, (double)scale, what);
    tsri_case_operand *y = tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B,
                                        TSRI_CASE_K(3), TSRI_CASE_T, TSRI_CASE_S);
    y->low = 0, y->high = 2.0 / (double)S;
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_K(3), TSRI_CASE_T,
                 TSRI_CASE_S);
    c->sizes[0] = B;
    c->sizes[1] = T;
    c->sizes[2] = S;
    c->attrs.softmax_grad =
        (tsr_scale_attrs){.struct_size = sizeof c->attrs.softmax_grad, .alpha = scale};
    c->bound[0].relative = 4 * TSRI_CASE_U;
    c->bound[0].absolute = (double)scale * y->high * 2 * (double)(S + 6) * TSRI_CASE_U;
    tsri_case_reason(c, "4 u |dx| + 2 scale max(y) (S + 6) u: a sum of S = %lld products, up to 2",
                     (long long)S);
    return c;
}

void tsri_cases_softmax_grad(tsri_case_list *list) {
    static const int64_t shapes[][3] = {{2, 3, 17},  {1, 1, 1},    {1, 2, 7},  {2, 1, 63},
                                        {1, 4, 64},  {1, 3, 65},   {1, 2, 15}, {1, 2, 16},
                                        {2, 2, 257}, {1, 1, 1031}, {0, 2, 5},  {1, 70, 33}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        add(list, shapes[i][0], shapes[i][1], shapes[i][2], i % 2 ? 1 : 0.125f, "");
    add(list, 2, 3, 10, 1, " heads swapped")->in[0].view = TSRI_CASE_SWAPPED;
    tsri_case *c = add(list, 2, 4, 12, 1, " rows of zeros");
    c->in[0].fill = TSRI_CASE_ZEROS;
    c->sparse = true;
    add(list, 4, 256, 256, 0.125f, "")->timed = true;
}
