/* cases/attention/attention_sinks_grad.c - the cases of attention_sinks_grad: padded and causal, with and
 * without keys before; heads and values around a vector. */
#include "cases/cases.h"

/* lse is above every sink, so the exponential is at most 1. Its argument is off by 12 u (two numbers of at most
 * 2, their difference and its product with log2 e), its value by 4 u besides; <dy, y> is a sum of Dv products
 * of at most 1, off by Dv u. */
static tsri_case *add(tsri_case_list *list, const int64_t *form, bool causal, const char *what) {
    const int64_t B = form[0], T = form[1], H = form[2], Dv = form[3];
    tsri_case *c =
        tsri_case_add(list, TSR_OP_ATTENTION_SINKS_GRAD, "B=%lld T=%lld H=%lld Dv=%lld%s",
                      (long long)B, (long long)T, (long long)H, (long long)Dv, what);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(H));
    for (int i = 1; i < 4; i += 2)
        tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(H),
                     TSRI_CASE_K(Dv));
    tsri_case_operand *lse =
        tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_K(H), TSRI_CASE_T);
    lse->low = 1, lse->high = 2;
    c->sizes[0] = B;
    c->sizes[1] = T;
    c->attrs.attention =
        (tsr_attention_attrs){.struct_size = sizeof c->attrs.attention, .causal = causal};
    c->bound[0].absolute = (double)Dv * (double)(Dv + 20) * TSRI_CASE_U;
    tsri_case_reason(
        c, "Dv (Dv + 20) u: an exponential of at most 1 times a sum of Dv = %lld products",
        (long long)Dv);
    return c;
}

void tsri_cases_attention_sinks_grad(tsri_case_list *list) {
    static const int64_t forms[][4] = {/* B T H Dv */ {2, 5, 4, 8},
                                       {1, 1, 1, 1},
                                       {3, 17, 2, 7},
                                       {1, 33, 3, 64},
                                       {2, 64, 5, 65},
                                       {0, 3, 2, 4}};
    static const int32_t past[] = {3, 0}, len[] = {6, 2};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        add(list, forms[i], i % 2, "");
    for (int causal = 0; causal < 2; causal++)
        for (int before = 0; before < 2; before++) {
            tsri_case *c = add(list, forms[0], causal,
                               causal   ? before ? " causal, keys before" : " causal, padded"
                               : before ? " keys before"
                                        : " padded");
            if (before)
                tsri_case_ints(c, 4, TSRI_CASE_B, 2, past);
            tsri_case_ints(c, 5, TSRI_CASE_B, 2, len);
            c->sparse = causal;
        }
    add(list, (const int64_t[]){4, 512, 64, 64}, true, "")->timed = true;
}
