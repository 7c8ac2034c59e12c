/* cases/optimizers/sgd.c - the cases of sgd. */
#include "cases/optimizers/states.h"

void tsri_cases_sgd(tsri_case_list *list) {
    for (int i = 0; i < TSRI_CASE_LENGTHS; i++)
        for (uint32_t kind = 0; kind < 3; kind++) { /* no velocity, momentum, nesterov */
            const int64_t n = tsri_case_lengths[i];
            const float decay = i % 2 ? 0.1f : 0.0f;
            tsri_case *c = tsri_case_add(list, TSR_OP_SGD, "N=%lld%s%s%s", (long long)n,
                                         decay > 0 ? " decay" : "",
                                         kind == 0   ? ""
                                         : kind == 1 ? " momentum"
                                                     : " nesterov",
                                         i % 3 == 0 ? " rounded" : "");
            const int last = kind ? 2 : 1;
            tsri_case_state(c, 0, n);
            if (kind)
                tsri_case_state(c, 1, n);
            tsri_case_in(c, 2, TSR_KIND_STATE, TSR_F32, 1, TSRI_CASE_K(n));
            tsri_case_give_rates(c, 3, &tsri_case_rate_settings[i % 3]);
            c->attrs.sgd = (tsr_sgd_attrs){.struct_size = sizeof c->attrs.sgd,
                                           .nesterov = kind == 2,
                                           .momentum = kind ? 0.9f : 0.0f,
                                           .decay = decay};
            c->bound[0].absolute = c->bound[1].absolute = 8 * TSRI_CASE_U;
            c->timed = i == TSRI_CASE_LENGTHS - 1;
            if (i % 3 == 0)
                tsri_case_rounded(c, 4, n, last);
            tsri_case_reason(c, "8 u: sums of four numbers of at most 2, lr at most 0.01; bf16 "
                                "one rounding step more");
        }
}
