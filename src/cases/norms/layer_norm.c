/* cases/norms/layer_norm.c - the cases of layer_norm. */
#include "cases/norms/norm.h"

void tsri_cases_layer_norm(tsri_case_list *list) {
    for (size_t i = 0; i < tsri_case_norm_form_count; i++) {
        const tsri_case_norm_form *f = &tsri_case_norm_forms[i];
        const tsr_dim C = TSRI_CASE_K(f->C);
        tsri_case *c = tsri_case_add(list, TSR_OP_LAYER_NORM, "T=%lld C=%lld%s%s", (long long)f->T,
                                     (long long)f->C, f->bias ? " bias" : "", f->what);
        tsri_case_norm_fill(tsri_case_norm_in(c, 0, f), f);
        tsri_case_in(c, 1, TSR_KIND_WEIGHT, TSR_F32, 1, C);
        if (f->bias)
            tsri_case_in(c, 2, TSR_KIND_WEIGHT, TSR_F32, 1, C);
        c->sizes[1] = f->T;
        c->timed = tsri_case_norm_is_timed(f);
        c->attrs.layer_norm =
            (tsr_norm_attrs){.struct_size = sizeof c->attrs.layer_norm, .eps = f->eps};
        tsri_case_norm_bound(c, 0, f, true);
    }
}
