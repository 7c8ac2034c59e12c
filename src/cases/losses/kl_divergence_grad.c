/* cases/losses/kl_divergence_grad.c - the cases of kl_divergence_grad. */
#include "cases/losses/loss.h"

void tsri_cases_kl_divergence_grad(tsri_case_list *list) {
    for (int i = 0; i < TSRI_CASE_DIVERGENCES; i++) {
        const tsri_case_loss_form *f = &tsri_case_divergences[i];
        tsri_case *c = tsri_case_divergence(list, TSR_OP_KL_DIVERGENCE_GRAD, f);
        tsri_case_operand *scale = tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(1));
        const double T = f->temperature == 0 ? 1 : (double)f->temperature;
        scale->fill = TSRI_CASE_EQUAL;
        scale->low = -1.5;
        if (f->addend)
            tsri_case_loss_classes(c, 4, f, 1);
        c->bound[0].absolute = (1.5 * T * (2 * tsri_case_loss_roundings(f) + 24) + 4) * TSRI_CASE_U;
        c->sparse |= f->V == 1 || f->range > 100;
        tsri_case_reason(c, "(|scale| T (2 K + 24) + 4) u, K = 80 + V/1024: two probabilities by "
                            "their sums, an addend of 1");
    }
}
