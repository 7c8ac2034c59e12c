/* cases/attention/distance_scores.c - the cases of distance_scores. */
#include "cases/attention/distances.h"

static tsri_case *add(tsri_case_list *list, const int64_t *form, const char *what) {
    tsri_case *c = tsri_cases_distance_add(list, TSR_OP_DISTANCE_SCORES, form, what);
    c->bound[0].relative = TSRI_CASE_U;
    tsri_case_reason(c, "u |y|: one sum, rounded once");
    return c;
}

void tsri_cases_distance_scores(tsri_case_list *list) {
    const int last = TSRI_CASES_DISTANCE_FORMS - 1;
    for (int i = 0; i < last; i++)
        add(list, tsri_cases_distance_forms[i], "");
    tsri_case *c = add(list, tsri_cases_distance_forms[0], ", heads swapped");
    c->in[0].view = c->in[1].view = TSRI_CASE_SWAPPED;
    add(list, tsri_cases_distance_forms[last], "")->timed = true;
}
