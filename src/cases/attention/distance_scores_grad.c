/* cases/attention/distance_scores_grad.c - the cases of distance_scores_grad. */
#include "cases/attention/distances.h"

static tsri_case *add(tsri_case_list *list, const int64_t *form) {
    const int64_t most = form[2] > form[3] ? form[2] : form[3];
    tsri_case *c = tsri_cases_distance_add(list, TSR_OP_DISTANCE_SCORES_GRAD, form, "");
    tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_K(form[1]), TSRI_CASE_T,
                 TSRI_CASE_S);
    c->sparse = true; /* a place that no distance has gets 0 */
    for (int i = 0; i < 2; i++)
        c->bound[i].absolute = (double)(most * most) * TSRI_CASE_U;
    tsri_case_reason(c, "n^2 u: a sum of up to n = %lld numbers of at most 1", (long long)most);
    return c;
}

void tsri_cases_distance_scores_grad(tsri_case_list *list) {
    const int last = TSRI_CASES_DISTANCE_FORMS - 1;
    for (int i = 0; i < last; i++)
        add(list, tsri_cases_distance_forms[i]);
    add(list, tsri_cases_distance_forms[last])->timed = true;
}
