/* cases/reduce/choose_experts.c - the cases of choose_experts. */
#include "cases/cases.h"

/* Experts are integers, and factors are copied, so both are exact; shares: a sum of k positive numbers and a
 * division (2.5 ulp). */
void tsri_cases_choose_experts(tsri_case_list *list) {
    static const struct {
        int64_t R, E;
        uint32_t k, groups, used;
        bool by_two, shares, bias;
        tsri_case_fill fill;
        const char *what;
    } forms[] = {{5, 8, 3, 0, 0, false, false, false, TSRI_CASE_UNIFORM, ""},
                 {5, 8, 3, 4, 2, true, true, true, TSRI_CASE_UNIFORM, ""},
                 {1, 1, 1, 1, 1, false, true, true, TSRI_CASE_UNIFORM, ""},
                 {7, 12, 4, 3, 2, false, false, false, TSRI_CASE_UNIFORM, ""},
                 {3, 12, 4, 3, 2, false, false, true, TSRI_CASE_INTEGER, " many ties"},
                 {3, 30, 6, 5, 2, true, false, false, TSRI_CASE_INTEGER, " many ties"},
                 {2, 12, 8, 3, 2, true, true, false, TSRI_CASE_EQUAL, " all equal, all taken"},
                 {4, 65, 9, 0, 0, false, true, true, TSRI_CASE_UNIFORM, ""},
                 {6, 66, 7, 6, 4, false, true, true, TSRI_CASE_UNIFORM, ""},
                 {3, 60, 20, 30, 15, true, true, true, TSRI_CASE_UNIFORM, ""},
                 {9, 20, 5, 4, 2, true, false, true, TSRI_CASE_SOME_NAN, " NaN among them"},
                 {9, 20, 5, 4, 3, false, false, false, TSRI_CASE_MASK, " -inf among them"},
                 {0, 8, 3, 4, 2, true, true, true, TSRI_CASE_UNIFORM, ""},
                 {130, 64, 6, 1, 1, false, false, false, TSRI_CASE_UNIFORM, ""},
                 {2, 1025, 8, 5, 3, true, true, true, TSRI_CASE_UNIFORM, ""},
                 {1, 256, 8, 8, 4, true, true, true, TSRI_CASE_UNIFORM, " one row"},
                 {512, 256, 8, 8, 4, true, true, true, TSRI_CASE_UNIFORM, " many rows"}};
    enum { N_FORMS = sizeof forms / sizeof *forms }; /* the last two are timed */
    for (int i = 0; i < N_FORMS; i++) {
        const tsr_dim E = TSRI_CASE_K(forms[i].E);
        tsri_case *c = tsri_case_add(
            list, TSR_OP_CHOOSE_EXPERTS, "R=%lld E=%lld k=%u groups %u of %u%s%s%s%s",
            (long long)forms[i].R, (long long)forms[i].E, forms[i].k, forms[i].used,
            forms[i].groups, forms[i].by_two ? " by two" : "", forms[i].shares ? " shares" : "",
            forms[i].bias ? " bias" : "", forms[i].what);
        tsri_case_operand *scores = tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_N, E);
        scores->fill = forms[i].fill;
        scores->low = forms[i].fill == TSRI_CASE_UNIFORM   ? 1.0 / 64
                      : forms[i].fill == TSRI_CASE_INTEGER ? 1
                                                           : 0.25;
        scores->high = forms[i].fill == TSRI_CASE_INTEGER ? 4 : 1;
        if (forms[i].bias) {
            tsri_case_operand *bias = tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 1, E);
            bias->fill = forms[i].fill == TSRI_CASE_INTEGER ? TSRI_CASE_INTEGER : TSRI_CASE_UNIFORM;
            bias->low = -2;
            bias->high = 2;
        }
        c->sizes[4] = forms[i].R;
        c->sparse = true; /* the number of an expert may be 0 */
        c->timed = i >= N_FORMS - 2;
        c->attrs.choose_experts =
            (tsr_choose_experts_attrs){.struct_size = sizeof c->attrs.choose_experts,
                                       .k = forms[i].k,
                                       .groups = forms[i].groups,
                                       .groups_used = forms[i].used,
                                       .by_two = forms[i].by_two,
                                       .shares = forms[i].shares};
        c->bound[0].relative = forms[i].shares ? (forms[i].k + 8) * TSRI_CASE_U : 0;
        tsri_case_reason(c, forms[i].shares
                                ? "experts exact; factors (k + 8) u: a sum of k positive numbers, "
                                  "rounded, and a division"
                                : "exact: numbers are copied");
    }
}
