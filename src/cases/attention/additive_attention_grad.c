/* cases/attention/additive_attention_grad.c - the cases of additive_attention_grad: queries, keys
 * and elements around all tails of vectors; padding; views. Probabilities may be any numbers,
 * because the gradient takes them as given. */
#include "cases/attention/additive_attention.h"

typedef tsri_case_additive_form form;

/* Probabilities are at most 1/S, so ds is at most 2 E / S, off by (E + S + 6) u of that. |v| <= 1;
 * tanh is off by 4 ulp, 1 - tanh^2 by 12 u; the sums have S, T and S T terms. */
static void bound(tsri_case *c, const form *f) {
    const double S = (double)f->S, T = (double)f->T, E = (double)f->E, ds = 2 * E / (S > 0 ? S : 1),
                 pair = E + S + 24;
    c->in[4].low = 0, c->in[4].high = 1 / (S > 0 ? S : 1);
    c->bound[0].absolute = S * ds * (pair + S) * TSRI_CASE_U;
    c->bound[1].absolute = T * ds * (pair + T) * TSRI_CASE_U;
    c->bound[2].absolute = S * T * ds * (pair + S * T) * TSRI_CASE_U;
    c->bound[3].absolute = T / (S > 0 ? S : 1) * (T + 2) * TSRI_CASE_U;
    tsri_case_reason(c,
                     "ds <= 2 E/S within (E + S + 24) u, sums of S = %lld, T = %lld and S T of "
                     "them; dvalues a sum of T products within 1/S",
                     (long long)f->S, (long long)f->T);
}

static tsri_case *add(tsri_case_list *list, const form *f) {
    tsri_case *c = tsri_case_additive(list, TSR_OP_ADDITIVE_ATTENTION_GRAD, 6, f);
    tsri_case_in(c, 4, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_S);
    tsri_case_in(c, 5, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(f->E));
    c->sparse = f->n_len > 0 || f->T == 0;
    bound(c, f);
    return c;
}

void tsri_cases_additive_attention_grad(tsri_case_list *list) {
    static const form forms[] = {
        {2, 3, 7, 17, 5, 0, {0}, ""},
        {1, 1, 2, 1, 1, 0, {0}, ""},
        {2, 1, 31, 16, 64, 2, {31, 4}, " padded"},
        {1, 5, 33, 15, 63, 0, {0}, ""},
        {3, 4, 20, 33, 65, 3, {20, 1, 17}, " padded"},
        {1, 2, 13, 22, 48, 0, {0}, ""},
        {2, 7, 9, 32, 130, 0, {0}, ""},
        {3, 2, 9, 8, 8, 3, {0, 9, 100}, " one sequence sees no key"},
        {2, 1, 17, 64, 32, 2, {17, 3}, " one query"},
        {1, 0, 5, 8, 8, 0, {0}, " no queries"},
        {0, 1, 5, 8, 8, 0, {0}, " no sequences"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        add(list, &forms[i]);
    form f = {2, 3, 9, 16, 32, 0, {0}, " strided"};
    tsri_case *c = add(list, &f);
    for (int i = 0; i < 6; i++)
        c->in[i].view = i == 2 || i == 4 ? TSRI_CASE_PACKED : TSRI_CASE_SLICED;
    f.what = " axes swapped";
    c = add(list, &f);
    c->in[0].view = c->in[1].view = c->in[3].view = c->in[5].view = TSRI_CASE_SWAPPED;
    add(list, &(form){8, 32, 32, 512, 1024, 0, {0}, " training"})->timed = true;
}
