/* cases/elements/accumulate.c - the cases of accumulate. */
#include "cases/optimizers/states.h"

static void number(tsri_case *c, int i, double value) {
    tsri_case_operand *operand = tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(1));
    operand->fill = TSRI_CASE_EQUAL;
    operand->low = value;
}

void tsri_cases_accumulate(tsri_case_list *list) {
    for (int i = 0; i < TSRI_CASE_LENGTHS; i++) {
        tsri_case *c =
            tsri_case_add(list, TSR_OP_ACCUMULATE, "N=%lld%s", (long long)tsri_case_lengths[i],
                          i % 3 == 0   ? ""
                          : i % 3 == 1 ? " beta 0"
                                       : " beta 0.75");
        tsri_case_operand *old = tsri_case_state(c, 0, tsri_case_lengths[i]);
        tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(tsri_case_lengths[i]));
        if (i % 3)
            number(c, 2, i % 3 == 1 ? 0 : 0.75);
        if (i % 3 == 1) { /* a state that is not read may hold anything */
            old->fill = TSRI_CASE_SOME_NAN;
            old->low = 0.5;
        }
        c->bound[0].relative = 2 * TSRI_CASE_U;
        c->timed = i == TSRI_CASE_LENGTHS - 1;
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
