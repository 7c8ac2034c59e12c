/* cases/attention/distance_scores_grad.c - the cases of distance_scores_grad. */
#include "cases/cases.h"

static tsri_case *add(tsri_case_list *list, const int64_t *form) {
    const int64_t B = form[0], H = form[1], T = form[2], S = form[3], P = form[4], R = form[5],
                  most = T > S ? T : S;
    tsri_case *c = tsri_case_add(
        list, TSR_OP_DISTANCE_SCORES_GRAD, "B=%lld H=%lld T=%lld S=%lld P=%lld R=%lld",
        (long long)B, (long long)H, (long long)T, (long long)S, (long long)P, (long long)R);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_K(H), TSRI_CASE_T,
                 TSRI_CASE_K(P));
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_K(H), TSRI_CASE_S,
                 TSRI_CASE_K(P));
    tsri_case_operand *place =
        tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_I32, 1, TSRI_CASE_K(2 * R + 1));
    place->fill = TSRI_CASE_INTEGER;
    place->low = 0, place->high = (double)(P - 1);
    tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_K(H), TSRI_CASE_T,
                 TSRI_CASE_S);
    c->sizes[0] = B;
    c->sizes[1] = T;
    c->sizes[2] = S;
    c->sparse = true; /* a place that no distance has gets 0 */
    for (int i = 0; i < 2; i++)
        c->bound[i].absolute = (double)(most * most) * TSRI_CASE_U;
    tsri_case_reason(c, "n^2 u: a sum of up to n = %lld numbers of at most 1", (long long)most);
    return c;
}

void tsri_cases_distance_scores_grad(tsri_case_list *list) {
    static const int64_t forms[][6] = {/* B H T S P R */ {2, 3, 5, 5, 7, 4},
                                       {1, 1, 1, 1, 1, 0},
                                       {1, 2, 17, 17, 9, 3},
                                       {3, 1, 4, 9, 33, 8},
                                       {2, 2, 65, 65, 31, 64},
                                       {0, 2, 3, 3, 4, 2}};
    static const int64_t large[] = {2, 12, 256, 256, 256, 511};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        add(list, forms[i]);
    add(list, large)->timed = true;
}
