/* cases/attention/additive_attention.c - the cases of additive_attention: queries, keys and widths
 * around all tails of vectors; padding, slots, dtypes of the kept keys, probabilities. */
#include "cases/attention/additive_attention.h"

#include <math.h>

typedef tsri_case_additive_form form;

/* A score is a sum of A terms, M = A max|v| in all; q + k is rounded once and tanh is within 4 ulp,
 * so it is off by (A + 8) u M. A probability is off by twice that, relative, by 4 ulp of exp and by
 * the sum over S. The output is a mean of values with these weights. */
static void bound(tsri_case *c, const form *f, double M) {
    const double relative = (2 * (double)(f->A + 8) * M + (double)(2 * f->S) + 32) * TSRI_CASE_U;
    c->in[3].absolute = true;

    c->bound[0].terms = relative;
    c->bound[0].absolute = TSRI_CASE_TINY;
    c->bound[1].relative = relative;
    c->bound[1].absolute = TSRI_CASE_TINY;
    tsri_case_reason(c,
                     "(2 (A + 8) M + 2 S + 32) u sum p|v|: scores are sums of A = %lld terms of "
                     "M = %.3g in all, p sums of S = %lld exponentials",
                     (long long)f->A, M, (long long)f->S);
}

tsri_case *tsri_case_additive(tsri_case_list *list, uint32_t op, int len, const form *f) {
    tsri_case *c =
        tsri_case_add(list, op, "B=%lld T=%lld S=%lld A=%lld E=%lld%s", (long long)f->B,
                      (long long)f->T, (long long)f->S, (long long)f->A, (long long)f->E, f->what);
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(f->A));
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_S, TSRI_CASE_K(f->A));
    tsri_case_in(c, 2, TSR_KIND_WEIGHT, TSR_F32, 1, TSRI_CASE_K(f->A));
    tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_S, TSRI_CASE_K(f->E));
    if (f->n_len)
        tsri_case_ints(c, len, TSRI_CASE_B, f->n_len, f->len);
    c->sizes[0] = f->B;
    c->sizes[1] = f->T;
    c->sizes[2] = f->S;
    return c;
}

static tsri_case *add(tsri_case_list *list, const form *f) {
    const double largest = 4 / sqrt((double)f->A);
    tsri_case *c = tsri_case_additive(list, TSR_OP_ADDITIVE_ATTENTION, 4, f);
    c->in[2].low = -largest, c->in[2].high = largest;
    bound(c, f, largest * (double)f->A);
    return c;
}

void tsri_cases_additive_attention(tsri_case_list *list) {
    static const form forms[] = {
        {2, 3, 7, 17, 5, 0, {0}, ""},
        {1, 1, 1, 1, 1, 0, {0}, ""},
        {2, 1, 31, 16, 64, 2, {31, 4}, " padded"},
        {1, 5, 33, 15, 63, 0, {0}, ""},
        {3, 1, 64, 33, 65, 3, {64, 1, 17}, " padded"},
        {1, 2, 13, 22, 48, 0, {0}, ""},
        {2, 1, 9, 32, 130, 0, {0}, ""},
        {3, 2, 9, 8, 8, 3, {0, 9, 100}, " one sequence sees no key"},
        {1, 0, 5, 8, 8, 0, {0}, " no queries"},
        {0, 1, 5, 8, 8, 0, {0}, " no sequences"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (uint32_t probabilities = 0; probabilities < 2; probabilities++) {
            tsri_case *c = add(list, &forms[i]);
            c->want = probabilities * 2;
            c->sparse = forms[i].n_len > 0;
        }
    tsri_case *c = add(list, &(form){4, 3, 33, 8, 20, 0, {0}, " NaN among the keys"});
    c->in[1].fill = TSRI_CASE_SOME_NAN;
    c->in[1].low = 0.005;
    c->want = 2;
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16};
    for (size_t i = 0; i < 3; i++) { /* hypotheses that share the keys of sentences */
        const form f = {4, 1, 20, 24, 40, 4, {20, 3, 20, 9}, " slots"};
        c = add(list, &f);
        c->in[1].dim[0] = c->in[3].dim[0] = TSRI_CASE_K(3);
        c->in[1].dtype = c->in[3].dtype = dtypes[i];
        tsri_case_ints(c, 5, TSRI_CASE_B, 4, (const int32_t[]){2, 0, 2, 1});
        c->want = 2;
        c->sparse = true;
    }
    const form f = {2, 3, 9, 16, 32, 0, {0}, " strided"};
    c = add(list, &f);
    c->in[0].view = c->in[1].view = c->in[3].view = TSRI_CASE_SLICED;
    const form turned = {2, 3, 9, 16, 32, 2, {9, 5}, " axes swapped"};
    c = add(list, &turned);
    c->in[0].view = c->in[1].view = c->in[3].view = TSRI_CASE_SWAPPED;
    add(list, &(form){8, 1, 32, 512, 1024, 0, {0}, " a step"})->timed = true;
    add(list, &(form){8, 32, 32, 512, 1024, 0, {0}, " training"})->timed = true;
}
