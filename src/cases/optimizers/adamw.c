/* cases/optimizers/adamw.c - the cases of adamw. */
#include "cases/optimizers/states.h"

#include <math.h>

/* Moments and gradients so small that eps is most of the divisor, and other betas. m and the gradient are
 * at most 1e-5, v 1e-10, the sum of two positive numbers: its error is relative. */
static void add_small(tsri_case_list *list) {
    static const int64_t lengths[] = {119, 1025};
    const double small = 1e-5, eps = 1e-3;
    for (int i = 0; i < 2; i++) {
        const tsri_case_rates *r = &tsri_case_rate_settings[i];
        tsri_case *c = tsri_case_add(list, TSR_OP_ADAMW, "N=%lld near eps, other betas%s",
                                     (long long)lengths[i], r->what);
        for (int k = 0; k < 4; k++) {
            tsri_case_operand *operand = tsri_case_state(c, k, lengths[i]);
            if (k > 0)
                operand->low = -small, operand->high = small;
        }
        c->in[2].low = small * small / 2, c->in[2].high = small * small;
        tsri_case_give_rates(c, 4, r);
        c->attrs.adamw = (tsr_adamw_attrs){.struct_size = sizeof c->attrs.adamw,
                                           .beta1 = 0.75f,
                                           .beta2 = 0.9f,
                                           .eps = (float)eps,
                                           .decay = 0.1f};
        c->bound[0].absolute =
            (4 + 24 * (double)r->rate / (double)r->of_m * small / eps) * TSRI_CASE_U;
        c->bound[1].absolute = 6 * small * TSRI_CASE_U;
        c->bound[2].relative = 8 * TSRI_CASE_U;
        tsri_case_reason(c,
                         "p (4 + 24 d) u, d = lr (1e-5 / rates[1]) / eps, longer than the longest "
                         "step; m 6e-5 u; v, of positive terms, 8 u |v|");
    }
}

void tsri_cases_adamw(tsri_case_list *list) {
    for (int i = 0; i < TSRI_CASE_LENGTHS; i++)
        for (int s = i % 2; s < 3; s += 2) {
            const tsri_case_rates *r = &tsri_case_rate_settings[s];
            const int64_t n = tsri_case_lengths[i];
            const float decay = i % 2 ? 0.1f : 0.0f;
            tsri_case *c =
                tsri_case_add(list, TSR_OP_ADAMW, "N=%lld%s%s%s", (long long)n,
                              decay > 0 ? " decay" : "", i % 3 == 0 ? " rounded" : "", r->what);
            for (int k = 0; k < 3; k++)
                tsri_case_state(c, k, n);
            c->in[2].low = 0.25;
            tsri_case_in(c, 3, TSR_KIND_STATE, TSR_F32, 1, TSRI_CASE_K(n));
            tsri_case_give_rates(c, 4, r);
            c->attrs.adamw = (tsr_adamw_attrs){.struct_size = sizeof c->attrs.adamw,
                                               .beta1 = 0.9f,
                                               .beta2 = 0.95f,
                                               .eps = 1e-8f,
                                               .decay = decay};
            c->timed = i == TSRI_CASE_LENGTHS - 1;
            const double down = (double)r->rate / (double)r->of_m / sqrt(0.23 / (double)r->of_v);
            c->bound[0].absolute = (4 + 24 * down) * TSRI_CASE_U;
            c->bound[1].absolute = c->bound[2].absolute = 6 * TSRI_CASE_U;
            if (i % 3 == 0)
                tsri_case_rounded(c, 5, n, 3);
            tsri_case_reason(c, "p (4 + 24 d) u, d = lr (1 / rates[1]) / sqrt(0.23 / rates[2]), "
                                "the longest step; m and v 6 u; bf16 one rounding step more");
        }
    tsri_case *c = tsri_case_add(list, TSR_OP_ADAMW, "N=40 of zeros");
    for (int k = 0; k < 4; k++)
        tsri_case_state(c, k, 40)->fill = k ? TSRI_CASE_ZEROS : TSRI_CASE_UNIFORM;
    tsri_case_give_rates(c, 4, &tsri_case_rate_settings[0]);
    c->attrs.adamw = (tsr_adamw_attrs){
        .struct_size = sizeof c->attrs.adamw, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f};
    c->sparse = true;
    tsri_case_reason(c, "exact: no parameter changes");
    add_small(list);
}
