/* cases/losses/losses.c - the cases of cross_entropy, kl_divergence and their gradients. Sums over
 * the classes have 16 partial sums over segments of 1024, so that K = 80 + V/1024 roundings reach a
 * sum of exponentials, those of the exponentials included. */
#include "cases/cases.h"

#include <math.h>
#include <string.h>

typedef struct form {
    int64_t B, T, V;
    double range; /* of logits */
    float smoothing, temperature;
    int ignored; /* 0: none, 1: every third target, 2: all; 3 (kl_divergence): no targets */
    bool teacher, addend;
    const char *what;
} form;

enum { VOCABULARY = 32000 }; /* of the forms that are timed */

static double roundings(const form *f) {
    return 80 + (double)f->V / 1024;
}

static tsri_case_operand *rows_of(tsri_case *c, int i, tsr_dtype dtype) {
    return tsri_case_in(c, i, TSR_KIND_INPUT, dtype, 2, TSRI_CASE_B, TSRI_CASE_T);
}

static tsri_case_operand *classes_of(tsri_case *c, int i, const form *f, double range) {
    tsri_case_operand *operand =
        tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(f->V));
    operand->low = -range, operand->high = range;
    if (!strcmp(f->what, " rising")) {
        operand->fill = TSRI_CASE_POWERS; /* from 1 to the range */
        operand->high = 1 / range;
    }
    return operand;
}

static tsri_case *add(tsri_case_list *list, tsr_op_id op, const form *f) {
    static const char *const ignored[] = {"", ", some ignored", ", all ignored", ", no targets"};
    tsri_case *c =
        tsri_case_add(list, op, "B=%lld T=%lld V=%lld%s%s%s", (long long)f->B, (long long)f->T,
                      (long long)f->V, ignored[f->ignored], f->addend ? " addend" : "", f->what);
    classes_of(c, 0, f, f->range);
    if (f->ignored < 3) {
        tsri_case_operand *targets = rows_of(c, 1, TSR_I32);
        targets->fill = TSRI_CASE_LIST;
        targets->n_list = 7;
        for (int i = 0; i < 7; i++)
            targets->list[i] = f->ignored == 2 || (f->ignored == 1 && i % 3 == 1)
                                   ? -100
                                   : (int32_t)((int64_t)i * 7919 % f->V);
    }
    c->sizes[0] = f->B;
    c->sizes[1] = f->T;
    c->timed = f->V == VOCABULARY;
    c->sparse = f->ignored != 0 && f->ignored != 3;
    return c;
}

static void set_entropy(tsri_case *c, const form *f) {
    c->attrs.cross_entropy = (tsr_cross_entropy_attrs){.struct_size = sizeof c->attrs.cross_entropy,
                                                       .ignore = -100,
                                                       .label_smoothing = f->smoothing};
}

static const form entropies[] = {
    {2, 3, 131, 3, 0, 0, 0, false, false, ""},
    {2, 3, 131, 3, 0.1f, 0, 0, false, true, " smoothed"},
    {1, 1, 1, 3, 0, 0, 0, false, false, ""},
    {1, 5, 2, 3, 0.1f, 0, 1, false, false, " smoothed"},
    {2, 7, 97, 3, 0, 0, 1, false, true, ""},
    {2, 7, 97, 3, 0.2f, 0, 1, false, false, " smoothed"},
    {1, 4, 33, 3, 0, 0, 2, false, true, ""},
    {1, 3, 17, 300, 0, 0, 0, false, false, " huge"},
    {1, 2, 1023, 3, 0, 0, 0, false, false, ""},
    {1, 1, 2311, 1000, 0, 0, 0, false, false, " rising"},
    {1, 2, 1025, 3, 0.1f, 0, 0, false, false, " smoothed"},
    {1, 2, 5003, 3, 0.1f, 0, 0, false, true, " smoothed"},
    {0, 3, 16, 3, 0, 0, 0, false, false, ""},
    {1, 5, 48, 3, 0.1f, 0, 0, false, false, " sliced"},
    {4, 32, VOCABULARY, 3, 0, 0, 0, false, false, ""},
};

void tsri_cases_cross_entropy(tsri_case_list *list) {
    for (size_t i = 0; i < sizeof entropies / sizeof *entropies; i++) {
        const form *f = &entropies[i];
        if (f->addend && f->ignored == 2)
            continue;
        tsri_case *c = add(list, TSR_OP_CROSS_ENTROPY, f);
        if (!strcmp(f->what, " sliced"))
            c->in[0].view = TSRI_CASE_SLICED;
        set_entropy(c, f);
        c->bound[0].absolute =
            (roundings(f) * (1 + 2 * f->range * (double)f->smoothing) + 8 * f->range + 32) *
            TSRI_CASE_U;
        c->bound[1].absolute = (roundings(f) + 8 * f->range + 32) * TSRI_CASE_U;
        tsri_case_reason(c, "(K (1 + 2 range e) + 8 range + 32) u, K = 80 + V/1024: the sum of "
                            "exponentials, that of scores where smoothed, differences of scores");
    }
}

void tsri_cases_cross_entropy_grad(tsri_case_list *list) {
    for (size_t i = 0; i < sizeof entropies / sizeof *entropies; i++) {
        const form *f = &entropies[i];
        tsri_case *c = add(list, TSR_OP_CROSS_ENTROPY_GRAD, f);
        tsri_case_operand *lse = rows_of(c, 2, TSR_F32);
        tsri_case_operand *scale = tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(1));
        lse->low = f->range, lse->high = f->range + 2;
        scale->fill = TSRI_CASE_EQUAL;
        scale->low = 0.75;
        if (f->addend)
            classes_of(c, 4, f, 1);
        if (!strcmp(f->what, " sliced"))
            c->in[0].view = TSRI_CASE_SLICED;
        set_entropy(c, f);
        c->bound[0].absolute = 16 * TSRI_CASE_U;
        c->sparse |= f->range > 100;
        tsri_case_reason(c, "16 u: p = exp(-d) is at most 1, d p at most 0.4; an addend of 1");
    }
}

/* ---- kl_divergence ---- */

static const form divergences[] = {
    {2, 3, 131, 2, 0, 2, 0, true, false, ""},
    {2, 3, 131, 2, 0, 0, 0, false, true, " uniform"},
    {1, 1, 1, 2, 0, 0, 3, true, false, ""},
    {1, 2, 2, 2, 0, 4, 3, true, false, ""},
    {2, 7, 97, 2, 0, 1, 1, true, true, ""},
    {2, 7, 97, 2, 0, 0, 1, false, false, " uniform"},
    {1, 4, 33, 2, 0, 1, 2, true, true, ""},
    {1, 2, 1025, 3, 0, 0.5f, 0, true, false, ""},
    {1, 2, 5003, 3, 0, 2, 3, true, true, ""},
    {1, 3, 2047, 3, 0, 0, 3, false, false, " uniform"},
    {0, 3, 16, 2, 0, 1, 0, true, false, ""},
    {1, 3, 17, 200, 0, 1, 0, true, false, " huge"},
    {1, 1, 2311, 1000, 0, 1, 0, true, false, " rising"},
    {1, 5, 48, 2, 0, 2, 0, true, false, " sliced"},
    {4, 32, VOCABULARY, 2, 0, 1, 0, true, false, ""},
};

static tsri_case *add_divergence(tsri_case_list *list, tsr_op_id op, const form *f) {
    tsri_case *c = add(list, op, f);
    if (f->teacher)
        classes_of(c, 2, f, f->range);
    if (!strcmp(f->what, " sliced"))
        c->in[0].view = c->in[2].view = TSRI_CASE_SLICED;
    c->attrs.kl_divergence = (tsr_kl_divergence_attrs){.struct_size = sizeof c->attrs.kl_divergence,
                                                       .ignore = -100,
                                                       .temperature = f->temperature};
    return c;
}

void tsri_cases_kl_divergence(tsri_case_list *list) {
    for (size_t i = 0; i < sizeof divergences / sizeof *divergences; i++) {
        const form *f = &divergences[i];
        if (f->addend && f->ignored == 2)
            continue;
        tsri_case *c = add_divergence(list, TSR_OP_KL_DIVERGENCE, f);
        const double K = roundings(f), T = f->temperature == 0 ? 1 : (double)f->temperature,
                     score = 2 * f->range / T, most = 2 * score + log((double)f->V);
        c->bound[0].absolute =
            T * T * (2 * K + 2 * score + (2 * K + score + 16) * most) * TSRI_CASE_U;
        c->sparse |= f->V == 1;
        tsri_case_reason(c, "T^2 (2 K + 2 s + (2 K + s + 16) D) u, K = 80 + V/1024, s = 2 range "
                            "/ T, D = 2 s + log V, at most |log pt - log ps|: each, pt, the sum");
    }
}

void tsri_cases_kl_divergence_grad(tsri_case_list *list) {
    for (size_t i = 0; i < sizeof divergences / sizeof *divergences; i++) {
        const form *f = &divergences[i];
        tsri_case *c = add_divergence(list, TSR_OP_KL_DIVERGENCE_GRAD, f);
        tsri_case_operand *scale = tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(1));
        const double T = f->temperature == 0 ? 1 : (double)f->temperature;
        scale->fill = TSRI_CASE_EQUAL;
        scale->low = -1.5;
        if (f->addend)
            classes_of(c, 4, f, 1);
        c->bound[0].absolute = (1.5 * T * (2 * roundings(f) + 24) + 4) * TSRI_CASE_U;
        c->sparse |= f->V == 1 || f->range > 100;
        tsri_case_reason(c, "(|scale| T (2 K + 24) + 4) u, K = 80 + V/1024: two probabilities by "
                            "their sums, an addend of 1");
    }
}
