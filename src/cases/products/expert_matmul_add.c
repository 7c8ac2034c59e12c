/* cases/products/expert_matmul_add.c - the cases of expert_matmul_add: few and many pairs, experts that
 * none names, rows that pairs share; beta missing, 0, 1 and another number. */
#include "cases/cases.h"

static tsri_case *add(tsri_case_list *list, const int64_t s[5], bool shared_a, bool shared_b,
                      const char *what) {
    const tsr_dim E = TSRI_CASE_K(s[4]), J = TSRI_CASE_K(s[1]), one = TSRI_CASE_K(1),
                  M = TSRI_CASE_K(s[2]), N = TSRI_CASE_K(s[3]);
    tsri_case *c = tsri_case_add(list, TSR_OP_EXPERT_MATMUL_ADD,
                                 "R=%lld J=%lld M=%lld N=%lld E=%lld%s%s%s", (long long)s[0],
                                 (long long)s[1], (long long)s[2], (long long)s[3], (long long)s[4],
                                 shared_a ? " shared a" : "", shared_b ? " shared b" : "", what);
    tsri_case_in(c, 0, TSR_KIND_STATE, TSR_F32, 3, E, M, N);
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_T, shared_a ? one : J, M);
    tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_T, shared_b ? one : J, N);
    tsri_case_operand *experts = tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_T, J);
    experts->fill = TSRI_CASE_INTEGER;
    experts->low = 0, experts->high = (double)(s[4] - 1);
    c->sizes[1] = s[0];
    c->reads_state = true;
    for (int i = 0; i < 3; i++)
        c->in[i].absolute = true;
    c->bound[0].terms = (double)(s[0] * s[1] + 4) * TSRI_CASE_U;
    c->bound[0].absolute = TSRI_CASE_TINY;
    tsri_case_reason(
        c,
        "(P + 4) u (|beta||state| + sum|a||b|), P = %lld pairs: each product and sum is "
        "rounded once",
        (long long)(s[0] * s[1]));
    return c;
}

void tsri_cases_expert_matmul_add(tsri_case_list *list) {
    static const int64_t shapes[][5] = {/* R J M N E */ {5, 2, 7, 17, 3},
                                        {1, 1, 1, 1, 1},
                                        {3, 2, 16, 33, 9},
                                        {40, 3, 15, 65, 4},
                                        {0, 2, 4, 4, 2}};
    static const double betas[] = {0, 1, 0.5};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        add(list, shapes[i], i == 2, i % 2 == 0, "");
    for (size_t i = 0; i < sizeof betas / sizeof *betas; i++) {
        tsri_case *c = add(list, shapes[0], false, true, ", beta");
        tsri_case_operand *beta = tsri_case_in(c, 4, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(1));
        beta->fill = TSRI_CASE_EQUAL;
        beta->low = betas[i];
        beta->absolute = true;
    }
    add(list, shapes[3], false, false, ", a from wider rows")->in[1].view = TSRI_CASE_SLICED;
}
