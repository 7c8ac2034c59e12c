/* cases/norms/norm_grad.c - the cases of norm_grad. */
#include "cases/norms/norm.h"

#include <math.h>

/* |g| <= 1, because weights and dy are; a normed value is at most sqrt C, and about sqrt 3 in a
 * uniform fill. The scale is off by (C + 8) u, a normed value by (C + 10) u kappa, relative, a mean
 * of C products by (C + 2) u more. All is multiplied by the scale, which is at most twice the
 * inverse of the fill's deviation, and 1 / sqrt(eps) for a single column. */
static tsri_case *add(tsri_case_list *list, const tsri_case_norm_form *f, bool rms, bool addend) {
    const tsr_dim C = TSRI_CASE_K(f->C);
    tsri_case *c = tsri_case_add(list, TSR_OP_NORM_GRAD, "%s T=%lld C=%lld%s%s%s",
                                 rms ? "rms" : "layer", (long long)f->T, (long long)f->C,
                                 addend ? " addend" : "", f->bias ? " stats" : "", f->what);
    tsri_case_norm_fill(tsri_case_norm_in(c, 0, f), f);
    tsri_case_in(c, 1, TSR_KIND_WEIGHT, TSR_F32, 1, C);
    tsri_case_norm_in(c, 2, f)->view = f->heads ? TSRI_CASE_PACKED : f->view;
    if (addend)
        tsri_case_norm_in(c, 3, f);
    c->sizes[1] = f->T;
    c->timed = tsri_case_norm_is_timed(f);
    c->want = f->bias ? 2 : 0;
    c->sparse = f->C == 1 && !rms && !addend; /* one column is its own mean */
    c->attrs.norm_grad = (tsr_norm_attrs){.struct_size = sizeof c->attrs.norm_grad,
                                          .norm = rms ? TSR_NORM_RMS : TSR_NORM_LAYER,
                                          .eps = f->eps};
    const double kappa = rms ? 1 : sqrt(3) * (fabs(f->offset) + f->scale) / f->scale;
    const double variance = f->C == 1 && !rms ? 0 : (f->scale * f->scale) / 3;
    const double scale = (f->C == 1 ? 1 : 2) / sqrt(variance + (double)f->eps);
    c->bound[0].relative = 4 * TSRI_CASE_U;
    c->bound[0].absolute =
        scale * (2 + 3) * (4 * kappa * (double)(f->C + 10)) * TSRI_CASE_U + TSRI_CASE_TINY;
    c->bound[1].relative = (double)(f->C + 16) * TSRI_CASE_U;
    c->bound[1].absolute =
        rms ? TSRI_CASE_TINY : (double)(f->C + 2) * (fabs(f->offset) + f->scale) * TSRI_CASE_U;
    tsri_case_reason(c,
                     "20 kappa (C + 10) u / deviation, C = %lld, kappa = max|x| / deviation = "
                     "%.3g: means of C products of factors up to sqrt 3; stats (C + 16) u",
                     (long long)f->C, kappa);
    return c;
}

void tsri_cases_norm_grad(tsri_case_list *list) {
    for (size_t i = 0; i < tsri_case_norm_form_count; i++)
        for (int rms = 0; rms < 2; rms++)
            add(list, &tsri_case_norm_forms[i], rms, (i + (size_t)rms) % 2 == 0);
}
