/* cases/elements/cast.c - the cases of cast. */
#include "cases/cases.h"

void tsri_cases_cast(tsri_case_list *list) {
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16};
    for (int i = 0; i < 10; i++) {
        const bool sliced = i == 9;
        const tsr_dtype from = dtypes[i / 3 % 3], to = dtypes[i % 3];
        tsri_case *c =
            tsri_case_add(list, TSR_OP_CAST, "[5,33] %s to %s%s", tsri_tensor_dtype_name(from),
                          tsri_tensor_dtype_name(to), sliced ? " from wider rows" : "");
        tsri_case_operand *x =
            tsri_case_in(c, 0, TSR_KIND_INPUT, from, 2, TSRI_CASE_T, TSRI_CASE_K(33));
        x->low = -1000, x->high = 1000;
        x->view = sliced ? TSRI_CASE_SLICED : TSRI_CASE_PACKED;
        c->sizes[1] = 5;
        c->attrs.cast = (tsr_cast_attrs){.struct_size = sizeof c->attrs.cast, .dtype = to};
        tsri_case_reason(c, "exact: rounding to nearest, ties to even, has one answer");
    }
}
