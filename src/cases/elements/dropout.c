/* cases/elements/dropout.c - the cases of dropout. Which elements are kept depends on their numbers
 * alone, so every kernel variant keeps the same ones. */
#include "cases/cases.h"

void tsri_cases_dropout(tsri_case_list *list) {
    static const struct {
        int64_t T, C;
        float rate;
        uint32_t site;
        int32_t seed[4];
        tsri_case_view view;
    } forms[] = {{5, 33, 0.1f, 0, {1, 2, 3, 4}, TSRI_CASE_PACKED},
                 {1, 1, 0.5f, 7, {-1, -2, -3, -4}, TSRI_CASE_PACKED},
                 {2, 64, 0.5f, 1u << 31, {0, 0, 0, 0}, TSRI_CASE_PACKED},
                 {3, 65, 0.9f, 3, {99, -7, 5, 0}, TSRI_CASE_PACKED},
                 {7, 1031, 0.25f, 12, {1, 0, 0, 1}, TSRI_CASE_PACKED},
                 {4, 4096, 1e-6f, 1, {5, 5, 5, 5}, TSRI_CASE_PACKED},
                 {2, 40, 0, 1, {3, 1, 4, 1}, TSRI_CASE_PACKED},
                 {0, 7, 0.5f, 1, {3, 1, 4, 1}, TSRI_CASE_PACKED},
                 {6, 50, 0.3f, 9, {2, 7, 1, 8}, TSRI_CASE_SLICED},
                 {6, 6, 0.3f, 9, {2, 7, 1, 8}, TSRI_CASE_SWAPPED},
                 {512, 2048, 0.1f, 9, {2, 7, 1, 8}, TSRI_CASE_PACKED}};
    enum { N_FORMS = sizeof forms / sizeof *forms }; /* the last is timed */
    for (int i = 0; i < N_FORMS; i++) {
        tsri_case *c = tsri_case_add(list, TSR_OP_DROPOUT, "[%lld,%lld] rate %g%s",
                                     (long long)forms[i].T, (long long)forms[i].C,
                                     (double)forms[i].rate, forms[i].view ? " a view" : "");
        tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_T, TSRI_CASE_K(forms[i].C))->view =
            forms[i].view;
        tsri_case_ints(c, 1, TSRI_CASE_K(4), 4, forms[i].seed);
        c->sizes[1] = forms[i].T;
        c->timed = i == N_FORMS - 1;
        c->attrs.dropout = (tsr_dropout_attrs){
            .struct_size = sizeof c->attrs.dropout, .site = forms[i].site, .rate = forms[i].rate};
        c->sparse = true;
        c->bound[0].relative = 3 * TSRI_CASE_U;
        tsri_case_reason(c, "3 u |y|: a factor and a product; the same elements are kept");
    }
}
