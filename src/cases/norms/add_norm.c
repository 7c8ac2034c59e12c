/* cases/norms/add_norm.c - the cases of add_norm. */
#include "cases/norms/norm.h"

/* The sum is rounded once on both sides; its norm has the bound of layer_norm or rms_norm. The
 * residual is so small that the form's kappa holds. */
void tsri_cases_add_norm(tsri_case_list *list) {
    for (size_t i = 0; i < 2 * tsri_case_norm_form_count; i++) {
        const tsri_case_norm_form *f = &tsri_case_norm_forms[i / 2];
        const bool rms = i % 2;
        const tsr_dim C = TSRI_CASE_K(f->C);
        tsri_case *c = tsri_case_add(list, TSR_OP_ADD_NORM, "%s T=%lld C=%lld%s%s",
                                     rms ? "rms" : "layer", (long long)f->T, (long long)f->C,
                                     f->bias && !rms ? " bias" : "", f->what);
        tsri_case_norm_fill(tsri_case_norm_in(c, 0, f), f);
        tsri_case_operand *residual = tsri_case_norm_in(c, 1, f);
        residual->low = -f->scale / 4, residual->high = f->scale / 4;
        tsri_case_in(c, 2, TSR_KIND_WEIGHT, TSR_F32, 1, C);
        if (f->bias && !rms)
            tsri_case_in(c, 3, TSR_KIND_WEIGHT, TSR_F32, 1, C);
        c->sizes[1] = f->T;
        c->timed = tsri_case_norm_is_timed(f);
        c->attrs.add_norm = (tsr_norm_attrs){.struct_size = sizeof c->attrs.add_norm,
                                             .norm = rms ? TSR_NORM_RMS : TSR_NORM_LAYER,
                                             .eps = f->eps};
        tsri_case_norm_bound(c, 1, f, !rms);
        c->bound[0].relative = 2 * TSRI_CASE_U;
        c->bound[0].absolute = TSRI_CASE_TINY;
    }
}
