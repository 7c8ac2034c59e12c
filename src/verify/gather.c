/* verify/gather.c - the cases of gather. */
#include "verify/verify.h"

void tsri_verify_gather_cases(tsri_verify_list *list) {
    static const int64_t forms[][3] = {
        /* R N C */ {9, 4, 17}, {1, 1, 1}, {5, 11, 64}, {3, 0, 8}, {40, 7, 129}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        tsri_verify_case *c =
            tsri_verify_add(list, TSR_OP_GATHER, "%lld of %lld rows of %lld",
                            (long long)forms[i][1], (long long)forms[i][0], (long long)forms[i][2]);
        tsri_verify_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_VERIFY_T, TSRI_VERIFY_K(forms[i][2]));
        tsri_verify_operand *index =
            tsri_verify_in(c, 1, TSR_KIND_INPUT, TSR_I32, 1, TSRI_VERIFY_N);
        index->fill = TSRI_VERIFY_INTEGER;
        index->low = 0, index->high = (double)(forms[i][0] - 1);
        c->sizes[1] = forms[i][0];
        c->sizes[4] = forms[i][1];
        tsri_verify_reason(c, "exact: rows are copied");
    }
}
