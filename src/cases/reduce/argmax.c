/* cases/reduce/argmax.c - the cases of argmax. */
#include "cases/cases.h"

/* A GPU takes parts of 1024 elements. */
void tsri_cases_argmax(tsri_case_list *list) {
    static const struct {
        int64_t R, V;
        tsri_case_fill fill;
        const char *what;
    } forms[] = {{4, 131, TSRI_CASE_UNIFORM, ""},
                 {1, 1, TSRI_CASE_UNIFORM, ""},
                 {3, 64, TSRI_CASE_UNIFORM, ""},
                 {3, 65, TSRI_CASE_INTEGER, " many ties"},
                 {2, 1031, TSRI_CASE_INTEGER, " many ties"},
                 {2, 40, TSRI_CASE_EQUAL, " all equal"},
                 {1, 5000, TSRI_CASE_UNIFORM, ""},
                 {3, 5003, TSRI_CASE_UNIFORM, ""},
                 {0, 7, TSRI_CASE_UNIFORM, ""},
                 {3, 30, TSRI_CASE_MASK, " -inf among them"},
                 {5, 70, TSRI_CASE_SOME_NAN, " NaN among them"},
                 {2, 1023, TSRI_CASE_UNIFORM, ""},
                 {2, 1024, TSRI_CASE_UNIFORM, ""},
                 {2, 1025, TSRI_CASE_POWERS, " rising"},
                 {2, 3073, TSRI_CASE_EQUAL, " all equal"},
                 {1, 2100, TSRI_CASE_ZEROS, " 0 and -0"},
                 {2, 20000, TSRI_CASE_MASK, " -inf among them"},
                 {3, 2500, TSRI_CASE_SOME_NAN, " NaN among them"},
                 {1, 32000, TSRI_CASE_UNIFORM, ""},
                 {8, 128256, TSRI_CASE_UNIFORM, ""}};
    enum { N_FORMS = sizeof forms / sizeof *forms }; /* the last two are timed */
    for (int i = 0; i < N_FORMS; i++) {
        tsri_case *c = tsri_case_add(list, TSR_OP_ARGMAX, "R=%lld V=%lld%s", (long long)forms[i].R,
                                     (long long)forms[i].V, forms[i].what);
        tsri_case_operand *x =
            tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_N, TSRI_CASE_K(forms[i].V));
        x->fill = forms[i].fill;
        x->low = forms[i].fill >= TSRI_CASE_MASK ? 0.5 : -3;
        x->high = forms[i].fill == TSRI_CASE_POWERS ? 1e-3 : 3;
        c->sizes[4] = forms[i].R;
        c->sparse = true;
        c->timed = i >= N_FORMS - 2;
        tsri_case_reason(c, "exact: the first largest");
    }
}
