/* cases/attention/attention_grad.c - the cases of attention_grad: self-attention and
 * cross-attention; causal, padded, windowed, with keys before the first query; fully masked
 * queries; grouped queries; Dv != D; parts of one product; biases and distances. */
#include "cases/attention/attention.h"

#include <math.h>
#include <stdio.h>

typedef tsri_case_attention_form form;

/* With n = max(S, T), scores stay within 1 (scale 1/D), what is added to them within `added`, and
 * lse between log n + 1 + added and one more. So p <= 1/n, off by ((D + 4) + 4 |lse| + 16) u,
 * relative. The ds of a pair is at most 2 Dv / n, off by that relative error and by (Dv + 3) u of
 * its terms. dq sums S of them times scale, dk H/G T of them; dv sums H/G T products with p;
 * drelative sums all pairs of a head. Each sum of m terms adds m u. A soft cap adds 8 u of a score to p
 * (its tanh is off by 4 u, the quotient before it by 2 u), and 12 u to the slope that multiplies ds:
 * twice that of tanh, its square and the subtraction, which all are at most 1. */
static void bound(tsri_case *c, const form *f, double added) {
    const double capped = c->attrs.attention.soft_cap > 0;
    const double n = (double)(f->S > f->T ? f->S : f->T), lse = log(n) + 2 + added;
    const double D = (double)f->D, Dv = (double)f->Dv, S = (double)f->S,
                 T = (double)(f->T * (f->H / f->G)), pairs = (double)(f->B * f->T) * S,
                 p = D + 20 + 4 * lse + 2 * added + 8 * capped,
                 ds = 2 * Dv * (p + Dv + 4 + 12 * capped), scale = 1 / D;
    c->in[4].low = lse - 1, c->in[4].high = lse;
    c->bound[0].absolute = scale * S / n * (ds + 2 * Dv * (S + 2)) * TSRI_CASE_U;
    c->bound[1].absolute = scale * T / n * (ds + 2 * Dv * (T + 2)) * TSRI_CASE_U;
    c->bound[2].absolute = T / n * (p + T + 1) * TSRI_CASE_U;
    c->bound[3].absolute = pairs / n * (ds + 2 * Dv * pairs) * TSRI_CASE_U;
    tsri_case_reason(c,
                     "p <= 1/n = %.3g within (D + 4 lse + 20) u, ds <= 2 Dv/n, sums of S = %lld "
                     "and H/G T = %lld of them: see attention_grad.c",
                     1 / n, (long long)f->S, (long long)T);
}

static tsri_case *add(tsri_case_list *list, const form *f) {
    tsri_case *c = tsri_case_attention(list, TSR_OP_ATTENTION_GRAD, 6, 1 / (float)f->D, f);
    for (int i = 3; i < 6; i += 2)
        tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(f->H),
                     TSRI_CASE_K(f->Dv));
    tsri_case_in(c, 4, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_K(f->H), TSRI_CASE_T);
    bound(c, f, 0);
    return c;
}

/* The table of distances, which is trained or not. */
static void add_relative(tsri_case_list *list) {
    static const struct {
        form form;
        int reach;
        uint32_t learns;
    } rows[] = {
        {{2, 5, 7, 4, 2, 8, 8, 0, 0, 0, 0, {0}, {0}, ""}, 3, 1},
        {{2, 17, 17, 3, 3, 16, 16, 0, 0, 0, 2, {0}, {17, 4}, " padded"}, 20, 1},
        {{1, 33, 31, 2, 1, 8, 12, 1, 0, 0, 1, {0}, {31}, " causal"}, 4, 1},
        {{2, 35, 70, 2, 2, 16, 16, 1, 20, 2, 2, {30, 0}, {65, 30}, " window"}, 0, 1},
        {{2, 6, 9, 2, 2, 4, 4, 0, 0, 0, 0, {0}, {0}, " bias"}, 2, 1},
        {{1, 40, 40, 4, 4, 32, 32, 1, 0, 0, 0, {0}, {0}, " not trained"}, 39, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        form f = rows[i].form;
        char what[64];
        snprintf(what, sizeof what, " relative, reach %d%s", rows[i].reach, f.what);
        f.what = what;
        tsri_case *c = add(list, &f);
        tsri_case_in(c, 9, rows[i].learns ? TSR_KIND_INPUT : TSR_KIND_WEIGHT, TSR_F32, 2,
                     TSRI_CASE_K(f.H), TSRI_CASE_K(2 * rows[i].reach + 1));
        if (i == 4)
            tsri_case_in(c, 8, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_K(1), TSRI_CASE_K(f.H),
                         TSRI_CASE_T, TSRI_CASE_S);
        bound(c, &f, 1 + (i == 4));
        c->want = rows[i].learns * 8;
        c->sparse = true; /* some distances never occur */
    }
}

static void add_variants(tsri_case_list *list) {
    static const form product = {3, 33, 33, 4, 4, 16, 16, 1, 0, 0, 3, {0}, {33, 4, 17}, ""};
    static const form plain = {2, 5, 9, 4, 2, 8, 8, 0, 0, 0, 0, {0}, {0}, ""};
    form f = product;
    f.what = " one product";
    tsri_case *c = add(list, &f);
    for (int k = 0; k < 3; k++)
        c->in[k].view = TSRI_CASE_AMONG;
    c->in[1].dim[1] = c->in[2].dim[1] = TSRI_CASE_T;
    c->sparse = true;
    f = plain;
    f.what = " strided";
    c = add(list, &f);
    for (int i = 0; i < 6; i++)
        c->in[i].view = i == 4 ? TSRI_CASE_PACKED : TSRI_CASE_SLICED;
    f.what = " axes swapped";
    c = add(list, &f);
    for (int i = 0; i < 6; i++)
        c->in[i].view = i == 4 ? TSRI_CASE_PACKED : TSRI_CASE_SWAPPED;
    for (int b = 0; b < TSRI_CASE_BIASES; b++) {
        f.what = tsri_case_biases[b].what;
        c = add(list, &f);
        tsri_case_give_bias(c, 8, &tsri_case_biases[b], f.H);
        bound(c, &f, 1);
    }
    f.what = " mask of -inf";
    c = add(list, &f);
    tsri_case_operand *mask = tsri_case_in(c, 8, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_K(1),
                                           TSRI_CASE_K(f.H), TSRI_CASE_T, TSRI_CASE_S);
    mask->fill = TSRI_CASE_MASK, mask->low = 0.4;
    f.what = " queries that see no key";
    c = add(list, &f);
    c->in[4].fill = TSRI_CASE_MASK;
    c->in[4].low = 0.5;
    c->bound[0].absolute *= (double)f.S, c->bound[1].absolute *= (double)f.S; /* lse is 0: p <= e */
    c->bound[0].absolute *= 3, c->bound[1].absolute *= 3;
    c->bound[2].absolute *= 3 * (double)f.S;
    c->sparse = true;
}

/* Scores within 1, with caps around them. */
static void add_soft_caps(tsri_case_list *list) {
    static const struct {
        form form;
        float cap;
    } rows[] = {
        {{2, 5, 7, 4, 2, 8, 8, 0, 0, 0, 0, {0}, {0}, " soft cap 0.3"}, 0.3f},
        {{1, 33, 33, 6, 2, 20, 12, 1, 0, 1, 1, {0}, {33}, " soft cap 0.1, causal"}, 0.1f},
        {{2, 70, 130, 4, 2, 48, 32, 1, 40, 2, 2, {60, 11}, {130, 81}, " soft cap 50"}, 50},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tsri_case *c = add(list, &rows[i].form);
        c->attrs.attention.soft_cap = rows[i].cap;
        bound(c, &rows[i].form, 0);
        c->sparse = i == 2;
    }
    form f = {2, 35, 40, 2, 2, 16, 16, 1, 20, 2, 2, {5, 0}, {40, 30}, " soft cap, relative"};
    tsri_case *c = add(list, &f);
    c->attrs.attention.soft_cap = 0.2f;
    tsri_case_in(c, 9, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_K(f.H), TSRI_CASE_K(2 * 3 + 1));
    bound(c, &f, 1);
    c->want = 8;
    c->sparse = true;
}

void tsri_cases_attention_grad(tsri_case_list *list) {
    static const form forms[] = {
        {2, 5, 7, 4, 2, 8, 8, 0, 0, 0, 0, {0}, {0}, ""},
        {1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, {0}, {0}, ""},
        {1, 15, 17, 2, 2, 7, 5, 0, 0, 0, 0, {0}, {0}, " odd"},
        {2, 31, 31, 2, 2, 32, 32, 1, 0, 0, 0, {0}, {0}, " causal"},
        {2, 32, 32, 4, 1, 32, 32, 1, 0, 0, 0, {0}, {0}, " causal, one key head"},
        {1, 33, 33, 6, 2, 20, 12, 1, 0, 1, 1, {0}, {33}, " causal, three to a key head"},
        {1, 65, 65, 2, 2, 64, 64, 1, 0, 0, 0, {0}, {0}, " causal"},
        {1, 129, 129, 1, 1, 64, 48, 1, 0, 0, 0, {0}, {0}, " causal"},
        {2, 64, 64, 2, 2, 32, 32, 1, 0, 0, 2, {0}, {64, 33}, " causal, padded"},
        {1, 40, 100, 2, 2, 48, 64, 0, 0, 0, 0, {0}, {0}, " cross"},
        {3, 6, 13, 2, 2, 8, 8, 0, 0, 0, 3, {0}, {13, 4, 1}, " padded"},
        {2, 70, 130, 4, 2, 48, 32, 1, 40, 2, 2, {60, 11}, {130, 81}, " window 40, cached"},
        {1, 24, 24, 2, 1, 8, 8, 1, 5, 0, 0, {0}, {0}, " window 5"},
        {1, 50, 50, 2, 2, 16, 16, 0, 7, 0, 0, {0}, {0}, " window 7 to both sides"},
        {2, 90, 90, 4, 2, 24, 16, 0, 20, 0, 2, {0}, {90, 41}, " window 20 to both sides, padded"},
        {2, 3, 9, 2, 1, 8, 8, 0, 0, 0, 2, {0}, {0, 9}, " one sequence sees no key"},
        {3, 5, 20, 2, 2, 128, 128, 1, 0, 3, 3, {7, 0, 15}, {12, 2, 19}, " cached, padded"},
        {1, 6, 6, 1, 1, 160, 16, 0, 0, 0, 0, {0}, {0}, " large heads"},
        {1, 0, 8, 2, 2, 8, 8, 1, 0, 1, 1, {0}, {8}, " no queries"},
        {0, 3, 8, 2, 2, 8, 8, 1, 0, 0, 0, {0}, {0}, " no sequences"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        add(list, &forms[i])->sparse = forms[i].n_len > 0 || forms[i].T == 0;
    add_variants(list);
    add_relative(list);
    add_soft_caps(list);
    add(list, &(form){4, 128, 128, 12, 12, 64, 64, 1, 0, 0, 0, {0}, {0}, " causal"})->timed = true;
    add(list, &(form){1, 512, 512, 12, 12, 64, 64, 1, 0, 0, 0, {0}, {0}, " causal"})->timed = true;
}
