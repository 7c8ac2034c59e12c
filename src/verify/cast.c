/* verify/cast.c - the cases of cast. */
#include "verify/verify.h"

void tsri_verify_cast_cases(tsri_verify_list *list) {
    static const tsr_dtype dtypes[] = {TSR_F32, TSR_F16, TSR_BF16};
    for (int i = 0; i < 9; i++) {
        const tsr_dtype from = dtypes[i / 3], to = dtypes[i % 3];
        tsri_verify_case *c =
            tsri_verify_add(list, TSR_OP_CAST, "[5,33] %s to %s", tsri_tensor_dtype_name(from),
                            tsri_tensor_dtype_name(to));
        tsri_verify_operand *x =
            tsri_verify_in(c, 0, TSR_KIND_INPUT, from, 2, TSRI_VERIFY_T, TSRI_VERIFY_K(33));
        x->low = -1000, x->high = 1000;
        c->sizes[1] = 5;
        c->attrs.cast = (tsr_cast_attrs){.struct_size = sizeof c->attrs.cast, .dtype = to};
        tsri_verify_reason(c, "exact: rounding to nearest, ties to even, has one answer");
    }
}
