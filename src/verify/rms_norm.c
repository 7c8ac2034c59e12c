/* verify/rms_norm.c - the cases of rms_norm. */
#include "verify/norm.h"

void tsri_verify_rms_norm_cases(tsri_verify_list *list) {
    for (size_t i = 0; i <= tsri_verify_norm_form_count; i++) {
        const bool zeros = i == tsri_verify_norm_form_count;
        const tsri_verify_norm_form *f = &tsri_verify_norm_forms[zeros ? 0 : i];
        const tsr_dim C = TSRI_VERIFY_K(f->C);
        tsri_verify_case *c =
            tsri_verify_add(list, TSR_OP_RMS_NORM, "T=%lld C=%lld%s", (long long)f->T,
                            (long long)f->C, zeros ? " signed zeros" : f->what);
        tsri_verify_operand *x =
            tsri_verify_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_VERIFY_B, TSRI_VERIFY_T, C);
        tsri_verify_norm_fill(x, f);
        if (zeros)
            x->fill = TSRI_VERIFY_ZEROS;
        c->sparse = zeros;
        tsri_verify_in(c, 1, TSR_KIND_WEIGHT, TSR_F32, 1, C);
        c->sizes[1] = f->T;
        c->attrs.rms_norm =
            (tsr_norm_attrs){.struct_size = sizeof c->attrs.rms_norm, .eps = f->eps};
        tsri_verify_norm_bound(c, 0, f, false);
    }
}
