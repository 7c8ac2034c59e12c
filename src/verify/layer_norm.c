/* verify/layer_norm.c - the cases of layer_norm. */
#include "verify/norm.h"

void tsri_verify_layer_norm_cases(tsri_verify_list *list) {
    for (size_t i = 0; i < tsri_verify_norm_form_count; i++) {
        const tsri_verify_norm_form *f = &tsri_verify_norm_forms[i];
        const tsr_dim C = TSRI_VERIFY_K(f->C);
        tsri_verify_case *c =
            tsri_verify_add(list, TSR_OP_LAYER_NORM, "T=%lld C=%lld%s%s", (long long)f->T,
                            (long long)f->C, f->bias ? " bias" : "", f->what);
        tsri_verify_norm_fill(
            tsri_verify_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_VERIFY_B, TSRI_VERIFY_T, C), f);
        tsri_verify_in(c, 1, TSR_KIND_WEIGHT, TSR_F32, 1, C);
        if (f->bias)
            tsri_verify_in(c, 2, TSR_KIND_WEIGHT, TSR_F32, 1, C);
        c->sizes[1] = f->T;
        c->attrs.layer_norm =
            (tsr_norm_attrs){.struct_size = sizeof c->attrs.layer_norm, .eps = f->eps};
        tsri_verify_norm_bound(c, 0, f, true);
    }
}
