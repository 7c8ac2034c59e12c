/* cases/lookup/gather.c - the cases of gather. */
#include "cases/cases.h"

void tsri_cases_gather(tsri_case_list *list) {
    static const int64_t forms[][3] = {
        /* R N C */ {9, 4, 17}, {1, 1, 1}, {5, 11, 64}, {3, 0, 8}, {40, 7, 129}};
    enum { N_FORMS = sizeof forms / sizeof *forms };
    for (int k = 0; k < N_FORMS + 2; k++) { /* the last form in all dtypes */
        const int i = k < N_FORMS ? k : N_FORMS - 1;
        const tsr_dtype dtype = k < N_FORMS ? TSR_F32 : k == N_FORMS ? TSR_F16 : TSR_BF16;
        tsri_case *c = tsri_case_add(list, TSR_OP_GATHER, "%lld of %lld rows of %lld %s",
                                     (long long)forms[i][1], (long long)forms[i][0],
                                     (long long)forms[i][2], tsri_tensor_dtype_name(dtype));
        tsri_case_in(c, 0, TSR_KIND_INPUT, dtype, 2, TSRI_CASE_T, TSRI_CASE_K(forms[i][2]));
        tsri_case_operand *index = tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_I32, 1, TSRI_CASE_N);
        index->fill = TSRI_CASE_INTEGER;
        index->low = 0, index->high = (double)(forms[i][0] - 1);
        c->sizes[1] = forms[i][0];
        c->sizes[4] = forms[i][1];
        tsri_case_reason(c, "exact: rows are copied");
    }
}
