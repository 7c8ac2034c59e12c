/* cases/elements/glu.c - the cases of glu. */
#include "cases/elements/slopes.h"

static void bound(tsri_case *c) {
    const tsri_case_within *w = &tsri_case_activations[c->attrs.glu.activation];
    c->bound[0].relative = (w->value + 2) * TSRI_CASE_U;
    c->bound[0].absolute = 16 * w->value_of_x * TSRI_CASE_U + TSRI_CASE_TINY;
    tsri_case_reason(c, "the activation's bound times |up|, at most 4; and a product");
}

void tsri_cases_glu(tsri_case_list *list) {
    for (uint32_t act = 0; act <= TSR_ACT_SIGMOID; act++)
        for (int form = 0; form < TSRI_CASE_GATED; form++) {
            tsri_case *c = tsri_case_gated(list, TSR_OP_GLU, act, form);
            bound(c);
        }
    for (int form = 0; form < TSRI_CASE_FORMS; form++) {
        tsri_case *c = tsri_case_gated_form(list, TSR_OP_GLU, form);
        bound(c);
        tsri_case_bound_form(c);
    }
}
