/* cases/reduce/argmax.c - the cases of argmax. */
#include "cases/cases.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Returns x, for its contents. */
static tsri_case_operand *add(tsri_case_list *list, int64_t R, int64_t V, const char *what,
                              bool timed) {
    tsri_case *c =
        tsri_case_add(list, TSR_OP_ARGMAX, "R=%lld V=%lld%s", (long long)R, (long long)V, what);
    c->sizes[4] = R;
    c->sparse = true;
    c->timed = timed;
    tsri_case_reason(c, "exact: the first largest");
    return tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_N, TSRI_CASE_K(V));
}

/* Rows of four numbers that are repeated. */
static void add_odd(tsri_case_list *list) {
    static const struct {
        const char *what;
        float numbers[4];
    } forms[] = {{" NaN alone", {NAN, NAN, NAN, NAN}},
                 {" -inf alone", {-INFINITY, -INFINITY, -INFINITY, -INFINITY}},
                 {" -inf and NaN", {NAN, -INFINITY, -INFINITY, NAN}},
                 {" inf among them", {1, NAN, INFINITY, -INFINITY}},
                 {" inf beside the largest float", {-FLT_MAX, 3, FLT_MAX, INFINITY}},
                 {" the largest float", {NAN, 1, -INFINITY, FLT_MAX}},
                 {" the lowest", {NAN, -FLT_MAX, -INFINITY, -FLT_MAX}}};
    static const int64_t sizes[][2] = {{5, 3}, {2, 70}, {3, 1031}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            tsri_case_operand *x = add(list, sizes[j][0], sizes[j][1], forms[i].what, false);
            x->fill = TSRI_CASE_NUMBERS;
            memcpy(x->numbers, forms[i].numbers, sizeof x->numbers);
        }
}

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
        tsri_case_operand *x = add(list, forms[i].R, forms[i].V, forms[i].what, i >= N_FORMS - 2);
        x->fill = forms[i].fill;
        x->low = forms[i].fill >= TSRI_CASE_MASK ? 0.5 : -3;
        x->high = forms[i].fill == TSRI_CASE_POWERS ? 1e-3 : 3;
    }
    add_odd(list);
}
