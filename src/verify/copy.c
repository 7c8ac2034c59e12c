/* verify/copy.c - the cases of copy. */
#include "verify/verify.h"

void tsri_verify_copy_cases(tsri_verify_list *list) {
    static const struct {
        int64_t T, H, D;
        tsri_verify_view view;
        const char *what;
    } forms[] = {{3, 4, 5, TSRI_VERIFY_SWAPPED, " swapped"},
                 {1, 1, 1, TSRI_VERIFY_PACKED, ""},
                 {7, 3, 64, TSRI_VERIFY_SLICED, " from wider rows"},
                 {0, 2, 4, TSRI_VERIFY_PACKED, ""},
                 {17, 5, 33, TSRI_VERIFY_SWAPPED, " swapped"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        tsri_verify_case *c =
            tsri_verify_add(list, TSR_OP_COPY, "[2,%lld,%lld,%lld]%s", (long long)forms[i].T,
                            (long long)forms[i].H, (long long)forms[i].D, forms[i].what);
        tsri_verify_in(c, 0, TSR_KIND_INPUT, TSR_F32, 4, TSRI_VERIFY_B, TSRI_VERIFY_T,
                       TSRI_VERIFY_K(forms[i].H), TSRI_VERIFY_K(forms[i].D))
            ->view = forms[i].view;
        c->sizes[0] = 2;
        c->sizes[1] = forms[i].T;
        tsri_verify_reason(c, "exact");
    }
}
