/* cases/reduce/topk.c - the cases of topk. */
#include "cases/cases.h"

#include <math.h>

/* Values are copied and indices are integers, so both are exact. log-sum-exp: exponents within the
 * range of x, exp 4 ulp, a sum of V terms, log 4 ulp of a number up to log V. A GPU takes parts of
 * 1024 elements, and at most 256 largest. */
void tsri_cases_topk(tsri_case_list *list) {
    static const struct {
        int64_t R, V;
        uint32_t k;
        tsri_case_fill fill;
        bool lse;
        const char *what;
    } forms[] = {{3, 131, 5, TSRI_CASE_UNIFORM, true, ""},
                 {1, 1, 1, TSRI_CASE_UNIFORM, true, ""},
                 {2, 64, 64, TSRI_CASE_UNIFORM, true, " all"},
                 {2, 65, 7, TSRI_CASE_INTEGER, true, " many ties"},
                 {2, 1031, 40, TSRI_CASE_UNIFORM, true, ""},
                 {1, 33, 4, TSRI_CASE_EQUAL, true, " all equal"},
                 {2, 5000, 40, TSRI_CASE_UNIFORM, false, ""},
                 {16, 5000, 16, TSRI_CASE_UNIFORM, true, ""},
                 {1, 5003, 40, TSRI_CASE_POWERS, true, " rising"},
                 {0, 9, 3, TSRI_CASE_UNIFORM, true, ""},
                 {1, 1023, 256, TSRI_CASE_UNIFORM, true, ""},
                 {2, 1024, 1, TSRI_CASE_UNIFORM, true, ""},
                 {2, 1025, 65, TSRI_CASE_POWERS, true, " rising"},
                 {1, 3073, 256, TSRI_CASE_EQUAL, false, " all equal"},
                 {1, 8193, 64, TSRI_CASE_INTEGER, true, " many ties"},
                 {1, 20000, 5, TSRI_CASE_MASK, true, " most -inf"},
                 {2, 2500, 40, TSRI_CASE_SOME_NAN, true, " NaN among them"},
                 {2, 20011, 256, TSRI_CASE_UNIFORM, true, ""},
                 {1, 2100, 300, TSRI_CASE_UNIFORM, true, ""},
                 {1, 32000, 40, TSRI_CASE_UNIFORM, false, ""},
                 {8, 128256, 40, TSRI_CASE_UNIFORM, true, ""}};
    enum { N_FORMS = sizeof forms / sizeof *forms }; /* the last two are timed */
    for (int i = 0; i < N_FORMS; i++) {
        tsri_case *c = tsri_case_add(list, TSR_OP_TOPK, "R=%lld V=%lld k=%u%s%s",
                                     (long long)forms[i].R, (long long)forms[i].V, forms[i].k,
                                     forms[i].lse ? " lse" : "", forms[i].what);
        tsri_case_operand *x =
            tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_N, TSRI_CASE_K(forms[i].V));
        x->fill = forms[i].fill;
        x->low = forms[i].fill == TSRI_CASE_MASK       ? 0.999
                 : forms[i].fill == TSRI_CASE_SOME_NAN ? 0.5
                                                       : -8;
        x->high = forms[i].fill == TSRI_CASE_POWERS ? 1e-3 : 8;
        c->want = forms[i].lse ? 4 : 0;
        c->sizes[4] = forms[i].R;
        c->sparse = true;
        c->timed = i >= N_FORMS - 2;
        c->attrs.topk = (tsr_topk_attrs){.struct_size = sizeof c->attrs.topk, .k = forms[i].k};
        c->bound[2].relative = 8 * TSRI_CASE_U;
        c->bound[2].absolute = ((double)forms[i].V + 48) * TSRI_CASE_U;
        tsri_case_reason(c, "values and indices exact; lse (V + 48) u + 8 u |lse|, V = %lld",
                         (long long)forms[i].V);
    }
}
