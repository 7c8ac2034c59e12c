/* cases/optimizers/optimizers.c - the cases of accumulate, sumsq, adamw and sgd. The states that
 * they write are compared. */
#include "cases/cases.h"

#include <math.h>

static const int64_t lengths[] = {119, 1, 2, 15, 16, 17, 1023, 1025, 4099, 2048 * 2048};
enum {
    N_LENGTHS = sizeof lengths / sizeof *lengths
}; /* the last is that of a weight: it is timed */

static tsri_case_operand *state(tsri_case *c, int i, int64_t n) {
    c->reads_state = true;
    return tsri_case_in(c, i, TSR_KIND_STATE, TSR_F32, 1, TSRI_CASE_K(n));
}

static void number(tsri_case *c, int i, double value) {
    tsri_case_operand *operand = tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(1));
    operand->fill = TSRI_CASE_EQUAL;
    operand->low = value;
}

void tsri_cases_accumulate(tsri_case_list *list) {
    for (int i = 0; i < N_LENGTHS; i++) {
        tsri_case *c = tsri_case_add(list, TSR_OP_ACCUMULATE, "N=%lld%s", (long long)lengths[i],
                                     i % 3 == 0   ? ""
                                     : i % 3 == 1 ? " beta 0"
                                                  : " beta 0.75");
        tsri_case_operand *old = state(c, 0, lengths[i]);
        tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(lengths[i]));
        if (i % 3)
            number(c, 2, i % 3 == 1 ? 0 : 0.75);
        if (i % 3 == 1) { /* a state that is not read may hold anything */
            old->fill = TSRI_CASE_SOME_NAN;
            old->low = 0.5;
        }
        c->bound[0].relative = 2 * TSRI_CASE_U;
        c->timed = i == N_LENGTHS - 1;
        tsri_case_reason(c, "2 u |state|: one rounding on either side");
    }
    tsri_case *c = tsri_case_add(list, TSR_OP_ACCUMULATE, "[5,48] x from wider rows");
    tsri_case_in(c, 0, TSR_KIND_STATE, TSR_F32, 2, TSRI_CASE_K(5), TSRI_CASE_K(48));
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_K(5), TSRI_CASE_K(48));
    c->in[1].view = TSRI_CASE_SLICED;
    c->reads_state = true;
    c->bound[0].relative = 2 * TSRI_CASE_U;
    tsri_case_reason(c, "2 u |state|: one rounding on either side");
}

void tsri_cases_sumsq(tsri_case_list *list) {
    static const uint32_t parts[] = {1, 2, 3, 7, 16};
    for (int i = 0; i < N_LENGTHS; i++)
        for (int p = i % 2; p < 5; p += 2) {
            tsri_case *c = tsri_case_add(list, TSR_OP_SUMSQ, "N=%lld in %u parts",
                                         (long long)lengths[i], parts[p]);
            const double run = (double)lengths[i] / parts[p] + 1;
            state(c, 0, 24);
            tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(lengths[i]));
            c->attrs.sumsq = (tsr_sumsq_attrs){
                .struct_size = sizeof c->attrs.sumsq, .first = 5, .parts = parts[p]};
            c->bound[0].relative = (70 + run / 1024) * TSRI_CASE_U;
            c->sparse = true;
            c->timed = i == N_LENGTHS - 1;
            tsri_case_reason(c, "(70 + n/1024) u of each sum: 16 partial sums over segments of "
                                "1024; the other elements stay unchanged");
        }
}

/* ---- optimizers ---- */

typedef struct rates {
    float rate, of_m, of_v, factor;
    const char *what;
} rates;

static const rates settings[] = {
    {0.01f, 0.1f, 0.05f, 1, " first step"}, {3e-4f, 1, 0.63f, 0.25f, ""}, {0, 1, 1, 1, " rate 0"}};

static void rates_of(tsri_case *c, int i, const rates *r) {
    tsri_case_operand *operand = tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(4));
    const float values[] = {r->rate, r->of_m, r->of_v, r->factor};
    operand->fill = TSRI_CASE_NUMBERS;
    for (int k = 0; k < 4; k++)
        operand->numbers[k] = values[k];
}

static void rounded(tsri_case *c, int i, int64_t n, int output) {
    tsri_case_in(c, i, TSR_KIND_STATE, TSR_BF16, 1, TSRI_CASE_K(n));
    c->bound[output].relative = 0x1p-7; /* it may round to the other neighbour */
    c->bound[output].absolute = c->bound[0].absolute;
}

void tsri_cases_adamw(tsri_case_list *list) {
    for (int i = 0; i < N_LENGTHS; i++)
        for (int s = i % 2; s < 3; s += 2) {
            const rates *r = &settings[s];
            const int64_t n = lengths[i];
            const float decay = i % 2 ? 0.1f : 0.0f;
            tsri_case *c =
                tsri_case_add(list, TSR_OP_ADAMW, "N=%lld%s%s%s", (long long)n,
                              decay > 0 ? " decay" : "", i % 3 == 0 ? " rounded" : "", r->what);
            for (int k = 0; k < 3; k++)
                state(c, k, n);
            c->in[2].low = 0.25;
            tsri_case_in(c, 3, TSR_KIND_STATE, TSR_F32, 1, TSRI_CASE_K(n));
            rates_of(c, 4, r);
            c->attrs.adamw = (tsr_adamw_attrs){.struct_size = sizeof c->attrs.adamw,
                                               .beta1 = 0.9f,
                                               .beta2 = 0.95f,
                                               .eps = 1e-8f,
                                               .decay = decay};
            c->timed = i == N_LENGTHS - 1;
            const double down = (double)r->rate / (double)r->of_m / sqrt(0.23 / (double)r->of_v);
            c->bound[0].absolute = (4 + 24 * down) * TSRI_CASE_U;
            c->bound[1].absolute = c->bound[2].absolute = 6 * TSRI_CASE_U;
            if (i % 3 == 0)
                rounded(c, 5, n, 3);
            tsri_case_reason(c, "p (4 + 24 d) u, d = lr (1 / rates[1]) / sqrt(0.23 / rates[2]), "
                                "the longest step; m and v 6 u; bf16 one rounding step more");
        }
    tsri_case *c = tsri_case_add(list, TSR_OP_ADAMW, "N=40 of zeros");
    for (int k = 0; k < 4; k++)
        state(c, k, 40)->fill = k ? TSRI_CASE_ZEROS : TSRI_CASE_UNIFORM;
    rates_of(c, 4, &settings[0]);
    c->attrs.adamw = (tsr_adamw_attrs){
        .struct_size = sizeof c->attrs.adamw, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f};
    c->sparse = true;
    tsri_case_reason(c, "exact: no parameter changes");
}

void tsri_cases_sgd(tsri_case_list *list) {
    for (int i = 0; i < N_LENGTHS; i++)
        for (uint32_t kind = 0; kind < 3; kind++) { /* no velocity, momentum, nesterov */
            const int64_t n = lengths[i];
            const float decay = i % 2 ? 0.1f : 0.0f;
            tsri_case *c = tsri_case_add(list, TSR_OP_SGD, "N=%lld%s%s%s", (long long)n,
                                         decay > 0 ? " decay" : "",
                                         kind == 0   ? ""
                                         : kind == 1 ? " momentum"
                                                     : " nesterov",
                                         i % 3 == 0 ? " rounded" : "");
            const int last = kind ? 2 : 1;
            state(c, 0, n);
            if (kind)
                state(c, 1, n);
            tsri_case_in(c, 2, TSR_KIND_STATE, TSR_F32, 1, TSRI_CASE_K(n));
            rates_of(c, 3, &settings[i % 3]);
            c->attrs.sgd = (tsr_sgd_attrs){.struct_size = sizeof c->attrs.sgd,
                                           .nesterov = kind == 2,
                                           .momentum = kind ? 0.9f : 0.0f,
                                           .decay = decay};
            c->bound[0].absolute = c->bound[1].absolute = 8 * TSRI_CASE_U;
            c->timed = i == N_LENGTHS - 1;
            if (i % 3 == 0)
                rounded(c, 4, n, last);
            tsri_case_reason(c, "8 u: sums of four numbers of at most 2, lr at most 0.01; bf16 "
                                "one rounding step more");
        }
}
