/* cases/elements/activations.c - the cases of relu, gelu, gelu_tanh, silu, tanh and sigmoid: small,
 * large, saturating and special arguments. */
#include "cases/cases.h"

/* `relative` is of the answer, `of_x` of |x|: gelu's 1 + erf and gelu_tanh's 1 + tanh lose digits
 * for x << 0, to 16 ulp of 1 (erf, OpenCL C 7.4), so their error is 16 u of x. */
static void add_all(tsri_case_list *list, tsr_op_id op, double relative, double of_x,
                    const char *reason) {
    static const struct {
        int64_t T, C;
        double range;
        tsri_case_fill fill;
        const char *what;
    } forms[] = {{5, 33, 3, TSRI_CASE_UNIFORM, ""},
                 {1, 1, 1, TSRI_CASE_UNIFORM, ""},
                 {2, 64, 12, TSRI_CASE_UNIFORM, " wide"},
                 {3, 65, 90, TSRI_CASE_UNIFORM, " saturating"},
                 {9, 700, 3, TSRI_CASE_UNIFORM, " of several items"},
                 {0, 7, 1, TSRI_CASE_UNIFORM, ""},
                 {2, 24, 80, TSRI_CASE_EXTREME, " extremes"},
                 {2, 5, 0, TSRI_CASE_ZEROS, " signed zeros"},
                 {3, 40, 1, TSRI_CASE_SOME_NAN, " NaN among them"},
                 {512, 2048, 3, TSRI_CASE_UNIFORM, ""}};
    enum { N_FORMS = sizeof forms / sizeof *forms }; /* the last is timed */
    for (int i = 0; i < N_FORMS; i++) {
        tsri_case *c = tsri_case_add(list, op, "[%lld,%lld]%s", (long long)forms[i].T,
                                     (long long)forms[i].C, forms[i].what);
        tsri_case_operand *x =
            tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_T, TSRI_CASE_K(forms[i].C));
        x->low = forms[i].fill == TSRI_CASE_SOME_NAN ? 0.3 : -forms[i].range;
        x->high = forms[i].range;
        x->fill = forms[i].fill;
        x->view = i == 2 ? TSRI_CASE_SLICED : TSRI_CASE_PACKED;
        c->sizes[1] = forms[i].T;
        c->timed = i == N_FORMS - 1;
        c->sparse = op == TSR_OP_RELU || forms[i].fill == TSRI_CASE_ZEROS || forms[i].range > 12;
        c->bound[0].relative = relative * TSRI_CASE_U;
        c->bound[0].absolute =
            of_x * forms[i].range * TSRI_CASE_U + (relative > 0 ? TSRI_CASE_TINY : 0);
        tsri_case_reason(c, "%s", reason);
    }
}

void tsri_cases_relu(tsri_case_list *list) {
    add_all(list, TSR_OP_RELU, 0, 0, "exact");
}

void tsri_cases_gelu(tsri_case_list *list) {
    add_all(list, TSR_OP_GELU, 8, 16,
            "8 u |y| + 16 u max|x|: erf is within 16 ulp, and 1 + erf cancels for x << 0");
}

void tsri_cases_gelu_tanh(tsri_case_list *list) {
    add_all(list, TSR_OP_GELU_TANH, 8, 16,
            "8 u |y| + 16 u max|x|: tanh is within 5 ulp of an argument with 4 roundings, and 1 + "
            "tanh cancels for x << 0");
}

void tsri_cases_silu(tsri_case_list *list) {
    add_all(list, TSR_OP_SILU, 16, 0, "16 u |y|: exp within 4 ulp, a sum and a division");
}

void tsri_cases_tanh(tsri_case_list *list) {
    add_all(list, TSR_OP_TANH, 12, 0, "12 u |y|: tanh within 5 ulp");
}

void tsri_cases_sigmoid(tsri_case_list *list) {
    add_all(list, TSR_OP_SIGMOID, 16, 0, "16 u |y|: exp within 4 ulp, a sum and a division");
}
