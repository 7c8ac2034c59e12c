/* cases/losses/cross_entropy.c - the cases of cross_entropy. */
#include "cases/losses/loss.h"

#include <string.h>

void tsri_cases_cross_entropy(tsri_case_list *list) {
    for (int i = 0; i < TSRI_CASE_ENTROPIES; i++) {
        const tsri_case_loss_form *f = &tsri_case_entropies[i];
        if (f->addend && f->ignored == 2)
            continue;
        tsri_case *c = tsri_case_loss(list, TSR_OP_CROSS_ENTROPY, f);
        if (!strcmp(f->what, " sliced"))
            c->in[0].view = TSRI_CASE_SLICED;
        tsri_case_set_entropy(c, f);
        c->bound[0].absolute =
            (tsri_case_loss_roundings(f) * (1 + 2 * f->range * (double)f->smoothing) +
             8 * f->range + 32) *
            TSRI_CASE_U;
        c->bound[1].absolute = (tsri_case_loss_roundings(f) + 8 * f->range + 32) * TSRI_CASE_U;
        tsri_case_reason(c, "(K (1 + 2 range e) + 8 range + 32) u, K = 80 + V/1024: the sum of "
                            "exponentials, that of scores where smoothed, differences of scores");
    }
}
