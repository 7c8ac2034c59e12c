/* cases/elements/scale.c - the cases of scale. */
#include "cases/cases.h"

void tsri_cases_scale(tsri_case_list *list) {
    static const struct {
        int64_t T, C;
        float alpha;
    } forms[] = {{3, 17, 0.3f}, {1, 1, -2.5f},   {2, 64, 1e-3f},
                 {0, 5, 2.0f},  {7, 129, 1e10f}, {9, 700, 0.7f}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        tsri_case *c =
            tsri_case_add(list, TSR_OP_SCALE, "[%lld,%lld] alpha %g", (long long)forms[i].T,
                          (long long)forms[i].C, (double)forms[i].alpha);
        tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_T, TSRI_CASE_K(forms[i].C))->view =
            i == 2 ? TSRI_CASE_SLICED : TSRI_CASE_PACKED;
        c->sizes[1] = forms[i].T;
        c->attrs.scale =
            (tsr_scale_attrs){.struct_size = sizeof c->attrs.scale, .alpha = forms[i].alpha};
        c->bound[0].relative = 2 * TSRI_CASE_U;
        c->bound[0].absolute = TSRI_CASE_TINY;
        tsri_case_reason(c, "2 u: one product on each side");
    }
}
