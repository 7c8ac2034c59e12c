/* verify/topk.c - the cases of topk. */
#include "verify/verify.h"

#include <math.h>

/* Values are copied and indices are integers, so both are exact. log-sum-exp: exponents within the
 * range of x, exp 4 ulp, a sum of V terms, log 4 ulp of a number up to log V. */
void tsri_verify_topk_cases(tsri_verify_list *list) {
    static const struct {
        int64_t R, V;
        uint32_t k;
        tsri_verify_fill fill;
        bool lse;
        const char *what;
    } forms[] = {{3, 131, 5, TSRI_VERIFY_UNIFORM, true, ""},
                 {1, 1, 1, TSRI_VERIFY_UNIFORM, true, ""},
                 {2, 64, 64, TSRI_VERIFY_UNIFORM, true, " all"},
                 {2, 65, 7, TSRI_VERIFY_INTEGER, true, " many ties"},
                 {2, 1031, 40, TSRI_VERIFY_UNIFORM, true, ""},
                 {1, 33, 4, TSRI_VERIFY_EQUAL, true, " all equal"},
                 {2, 5000, 40, TSRI_VERIFY_UNIFORM, false, ""},
                 {0, 9, 3, TSRI_VERIFY_UNIFORM, true, ""}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        tsri_verify_case *c = tsri_verify_add(
            list, TSR_OP_TOPK, "R=%lld V=%lld k=%u%s%s", (long long)forms[i].R,
            (long long)forms[i].V, forms[i].k, forms[i].lse ? " lse" : "", forms[i].what);
        tsri_verify_operand *x = tsri_verify_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_VERIFY_N,
                                                TSRI_VERIFY_K(forms[i].V));
        x->fill = forms[i].fill;
        x->low = -8, x->high = 8;
        c->want = forms[i].lse ? 4 : 0;
        c->sizes[4] = forms[i].R;
        c->sparse = true;
        c->attrs.topk = (tsr_topk_attrs){.struct_size = sizeof c->attrs.topk, .k = forms[i].k};
        c->bound[2].relative = 8 * TSRI_VERIFY_U;
        c->bound[2].absolute = ((double)forms[i].V + 48) * TSRI_VERIFY_U;
        tsri_verify_reason(c, "values and indices exact; lse (V + 48) u + 8 u |lse|, V = %lld",
                           (long long)forms[i].V);
    }
}
