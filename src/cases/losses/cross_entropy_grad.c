/* cases/losses/cross_entropy_grad.c - the cases of cross_entropy_grad. */
#include "cases/losses/loss.h"

#include <string.h>

void tsri_cases_cross_entropy_grad(tsri_case_list *list) {
    for (int i = 0; i < TSRI_CASE_ENTROPIES; i++) {
        const tsri_case_loss_form *f = &tsri_case_entropies[i];
        tsri_case *c = tsri_case_loss(list, TSR_OP_CROSS_ENTROPY_GRAD, f);
        tsri_case_operand *lse = tsri_case_loss_rows(c, 2, TSR_F32);
        tsri_case_operand *scale = tsri_case_in(c, 3, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(1));
        lse->low = f->range, lse->high = f->range + 2;
        scale->fill = TSRI_CASE_EQUAL;
        scale->low = 0.75;
        if (f->addend)
            tsri_case_loss_classes(c, 4, f, 1);
        if (!strcmp(f->what, " sliced"))
            c->in[0].view = TSRI_CASE_SLICED;
        tsri_case_set_entropy(c, f);
        c->bound[0].absolute = 16 * TSRI_CASE_U;
        c->sparse |= f->range > 100;
        tsri_case_reason(c, "16 u: p = exp(-d) is at most 1, d p at most 0.4; an addend of 1");
    }
}
