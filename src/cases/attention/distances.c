/* cases/attention/distances.c - what the cases of distance_scores and of its gradient share. */
#include "cases/attention/distances.h"

const int64_t tsri_cases_distance_forms[TSRI_CASES_DISTANCE_FORMS][6] = {
    /* B H T S P R */ {2, 3, 5, 5, 7, 4},
    {1, 1, 1, 1, 1, 0},
    {1, 2, 17, 17, 9, 3},
    {3, 1, 4, 9, 33, 8},
    {2, 2, 65, 65, 31, 64},
    {0, 2, 3, 3, 4, 2},
    {2, 12, 256, 256, 256, 511}};

tsri_case *tsri_cases_distance_add(tsri_case_list *list, tsr_op_id op, const int64_t form[6],
                                   const char *what) {
    const int64_t B = form[0], H = form[1], T = form[2], S = form[3], P = form[4], R = form[5];
    tsri_case *c =
        tsri_case_add(list, op, "B=%lld H=%lld T=%lld S=%lld P=%lld R=%lld%s", (long long)B,
                      (long long)H, (long long)T, (long long)S, (long long)P, (long long)R, what);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_K(H), TSRI_CASE_T,
                 TSRI_CASE_K(P));
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_K(H), TSRI_CASE_S,
                 TSRI_CASE_K(P));
    tsri_case_operand *place =
        tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_I32, 1, TSRI_CASE_K(2 * R + 1));
    place->fill = TSRI_CASE_INTEGER;
    place->low = 0, place->high = (double)(P - 1);
    c->sizes[0] = B;
    c->sizes[1] = T;
    c->sizes[2] = S;
    return c;
}
