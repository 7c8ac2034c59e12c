/* cases/elements/glu_grad.c - the cases of glu_grad. */
#include "cases/elements/slopes.h"

static void bound(tsri_case *c) {
    const tsri_case_within *w = &tsri_case_activations[c->attrs.glu.activation];
    c->bound[0].relative = ((w->slope > w->value ? w->slope : w->value) + 4) * TSRI_CASE_U;
    c->bound[0].absolute = 4 * (w->slope_absolute + w->value_of_x) * TSRI_CASE_U + TSRI_CASE_TINY;
    tsri_case_reason(c, "the bounds of the activation and of its derivative, times |up| "
                        "of at most 4; and two products");
}

void tsri_cases_glu_grad(tsri_case_list *list) {
    for (uint32_t act = 0; act <= TSR_ACT_SIGMOID; act++)
        for (int form = 0; form < TSRI_CASE_GATED; form++) {
            tsri_case *c = tsri_case_gated(list, TSR_OP_GLU_GRAD, act, form);
            tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T,
                         TSRI_CASE_K(c->in[0].dim[2].factor / 2));
            c->in[1].view = c->in[0].view;
            bound(c);
        }
    for (int form = 0; form < TSRI_CASE_FORMS; form++) {
        tsri_case *c = tsri_case_gated_form(list, TSR_OP_GLU_GRAD, form);
        tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T,
                     TSRI_CASE_K(c->in[0].dim[2].factor / 2));
        c->in[1].view = c->in[0].view;
        bound(c);
        tsri_case_bound_form(c);
    }
}
