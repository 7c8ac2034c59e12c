/* cases/elements/copy.c - the cases of copy. */
#include "cases/cases.h"

void tsri_cases_copy(tsri_case_list *list) {
    static const struct {
        int64_t T, H, D;
        tsri_case_view view;
        const char *what;
    } forms[] = {{3, 4, 5, TSRI_CASE_SWAPPED, " swapped"},
                 {1, 1, 1, TSRI_CASE_PACKED, ""},
                 {7, 3, 64, TSRI_CASE_SLICED, " from wider rows"},
                 {0, 2, 4, TSRI_CASE_PACKED, ""},
                 {17, 5, 33, TSRI_CASE_SWAPPED, " swapped"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        tsri_case *c =
            tsri_case_add(list, TSR_OP_COPY, "[2,%lld,%lld,%lld]%s", (long long)forms[i].T,
                          (long long)forms[i].H, (long long)forms[i].D, forms[i].what);
        tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_T,
                     TSRI_CASE_K(forms[i].H), TSRI_CASE_K(forms[i].D))
            ->view = forms[i].view;
        c->sizes[0] = 2;
        c->sizes[1] = forms[i].T;
        tsri_case_reason(c, "exact");
    }
}
