/* cases/losses/loss.c - what the cases of the losses and of their gradients have in common. */
#include "cases/losses/loss.h"

#include <string.h>

enum { VOCABULARY = 32000 }; /* of the forms that are timed */

double tsri_case_loss_roundings(const tsri_case_loss_form *f) {
    return 80 + (double)f->V / 1024;
}

tsri_case_operand *tsri_case_loss_rows(tsri_case *c, int i, tsr_dtype dtype) {
    return tsri_case_in(c, i, TSR_KIND_INPUT, dtype, 2, TSRI_CASE_B, TSRI_CASE_T);
}

tsri_case_operand *tsri_case_loss_classes(tsri_case *c, int i, const tsri_case_loss_form *f,
                                          double range) {
    tsri_case_operand *operand =
        tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(f->V));
    operand->low = -range, operand->high = range;
    if (!strcmp(f->what, " rising")) {
        operand->fill = TSRI_CASE_POWERS; /* from 1 to the range */
        operand->high = 1 / range;
    }
    return operand;
}

tsri_case *tsri_case_loss(tsri_case_list *list, tsr_op_id op, const tsri_case_loss_form *f) {
    static const char *const ignored[] = {"", ", some ignored", ", all ignored", ", no targets"};
    tsri_case *c =
        tsri_case_add(list, op, "B=%lld T=%lld V=%lld%s%s%s", (long long)f->B, (long long)f->T,
                      (long long)f->V, ignored[f->ignored], f->addend ? " addend" : "", f->what);
    tsri_case_loss_classes(c, 0, f, f->range);
    if (f->ignored < 3) {
        tsri_case_operand *targets = tsri_case_loss_rows(c, 1, TSR_I32);
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

void tsri_case_set_entropy(tsri_case *c, const tsri_case_loss_form *f) {
    c->attrs.cross_entropy = (tsr_cross_entropy_attrs){.struct_size = sizeof c->attrs.cross_entropy,
                                                       .ignore = -100,
                                                       .label_smoothing = f->smoothing};
}

const tsri_case_loss_form tsri_case_entropies[TSRI_CASE_ENTROPIES] = {
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

const tsri_case_loss_form tsri_case_divergences[TSRI_CASE_DIVERGENCES] = {
    {2, 3, 131, 2, 0, 2, 0, true, false, ""},
    {2, 3, 131, 2, 0, 0, 0, false, true, " uniform"},
    {1, 1, 1, 2, 0, 0, 3, true, false, ""},
    {1, 2, 2, 2, 0, 4, 3, true, false, ""},
    {2, 7, 97, 2, 0, 1, 1, true, true, ""},
    {2, 7, 97, 2, 0, 0, 1, false, false, " uniform"},
    {1, 4, 33, 2, 0, 1, 2, true, true, ""},
    {1, 3, 63, 2, 0, 1, 0, true, true, ""},
    {1, 3, 65, 2, 0, 1, 0, true, true, ""},
    {1, 2, 1025, 3, 0, 0.5f, 0, true, false, ""},
    {1, 1, 4097, 3, 0, 1, 0, true, false, ""},
    {1, 2, 5003, 3, 0, 2, 3, true, true, ""},
    {1, 3, 2047, 3, 0, 0, 3, false, false, " uniform"},
    {0, 3, 16, 2, 0, 1, 0, true, false, ""},
    {1, 3, 17, 200, 0, 1, 0, true, false, " huge"},
    {1, 1, 2311, 1000, 0, 1, 0, true, false, " rising"},
    {1, 5, 48, 2, 0, 2, 0, true, false, " sliced"},
    {4, 32, VOCABULARY, 2, 0, 1, 0, true, false, ""},
};

tsri_case *tsri_case_divergence(tsri_case_list *list, tsr_op_id op, const tsri_case_loss_form *f) {
    tsri_case *c = tsri_case_loss(list, op, f);
    if (f->teacher)
        tsri_case_loss_classes(c, 2, f, f->range);
    if (!strcmp(f->what, " sliced"))
        c->in[0].view = c->in[2].view = TSRI_CASE_SLICED;
    c->attrs.kl_divergence = (tsr_kl_divergence_attrs){.struct_size = sizeof c->attrs.kl_divergence,
                                                       .ignore = -100,
                                                       .temperature = f->temperature};
    return c;
}
