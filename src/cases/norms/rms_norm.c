/* cases/norms/rms_norm.c - the cases of rms_norm. */
#include "cases/norms/norm.h"

void tsri_cases_rms_norm(tsri_case_list *list) {
    for (size_t i = 0; i <= tsri_case_norm_form_count; i++) {
        const bool zeros = i == tsri_case_norm_form_count;
        const tsri_case_norm_form *f = &tsri_case_norm_forms[zeros ? 0 : i];
        const tsr_dim C = TSRI_CASE_K(f->C);
        tsri_case *c = tsri_case_add(list, TSR_OP_RMS_NORM, "T=%lld C=%lld%s", (long long)f->T,
                                     (long long)f->C, zeros ? " signed zeros" : f->what);
        tsri_case_operand *x = tsri_case_norm_in(c, 0, f);
        tsri_case_norm_fill(x, f);
        if (zeros)
            x->fill = TSRI_CASE_ZEROS;
        c->sparse = zeros;
        tsri_case_in(c, 1, TSR_KIND_WEIGHT, TSR_F32, 1, C);
        c->sizes[1] = f->T;
        c->timed = tsri_case_norm_is_timed(f);
        c->attrs.rms_norm =
            (tsr_norm_attrs){.struct_size = sizeof c->attrs.rms_norm, .eps = f->eps};
        tsri_case_norm_bound(c, 0, f, false);
    }
}
