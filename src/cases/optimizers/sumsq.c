/* cases/optimizers/sumsq.c - the cases of sumsq. */
#include "cases/optimizers/states.h"

void tsri_cases_sumsq(tsri_case_list *list) {
    static const uint32_t parts[] = {1, 2, 3, 7, 16};
    for (int i = 0; i < TSRI_CASE_LENGTHS; i++)
        for (int p = i % 2; p < 5; p += 2) {
            tsri_case *c = tsri_case_add(list, TSR_OP_SUMSQ, "N=%lld in %u parts",
                                         (long long)tsri_case_lengths[i], parts[p]);
            const double run = (double)tsri_case_lengths[i] / parts[p] + 1;
            tsri_case_state(c, 0, 24);
            tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(tsri_case_lengths[i]));
            c->attrs.sumsq = (tsr_sumsq_attrs){
                .struct_size = sizeof c->attrs.sumsq, .first = 5, .parts = parts[p]};
            c->bound[0].relative = (70 + run / 1024) * TSRI_CASE_U;
            c->sparse = true;
            c->timed = i == TSRI_CASE_LENGTHS - 1;
            tsri_case_reason(c, "(70 + n/1024) u of each sum: 16 partial sums over segments of "
                                "1024; the other elements stay unchanged");
        }
}
