/* cases/losses/kl_divergence.c - the cases of kl_divergence. */
#include "cases/losses/loss.h"

#include <math.h>

void tsri_cases_kl_divergence(tsri_case_list *list) {
    for (int i = 0; i < TSRI_CASE_DIVERGENCES; i++) {
        const tsri_case_loss_form *f = &tsri_case_divergences[i];
        if (f->addend && f->ignored == 2)
            continue;
        tsri_case *c = tsri_case_divergence(list, TSR_OP_KL_DIVERGENCE, f);
        const double K = tsri_case_loss_roundings(f),
                     T = f->temperature == 0 ? 1 : (double)f->temperature, score = 2 * f->range / T,
                     most = 2 * score + log((double)f->V);
        c->bound[0].absolute =
            T * T * (2 * K + 2 * score + (2 * K + score + 16) * most) * TSRI_CASE_U;
        c->sparse |= f->V == 1;
        tsri_case_reason(c, "T^2 (2 K + 2 s + (2 K + s + 16) D) u, K = 80 + V/1024, s = 2 range "
                            "/ T, D = 2 s + log V, at most |log pt - log ps|: each, pt, the sum");
    }
}
