/* cases/lookup/concat.c - the cases of concat. */
#include "cases/cases.h"

static tsri_case *add(tsri_case_list *list, int64_t B, int64_t T, int n, const int64_t *columns,
                      const char *what) {
    tsri_case *c = tsri_case_add(
        list, TSR_OP_CONCAT, "B=%lld T=%lld, %d inputs of %lld, %lld, ..%s", (long long)B,
        (long long)T, n, (long long)columns[0], (long long)columns[1], what);
    for (int i = 0; i < n; i++)
        tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T,
                     TSRI_CASE_K(columns[i]));
    c->sizes[0] = B;
    c->sizes[1] = T;
    tsri_case_reason(c, "exact: elements are copied");
    return c;
}

void tsri_cases_concat(tsri_case_list *list) {
    static const int64_t columns[][4] = {
        {17, 5, 1, 1}, {1, 1, 1, 1}, {64, 63, 65, 7}, {16, 48, 128, 32}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        for (int n = 2; n <= 4; n++)
            add(list, 2, 3, n, columns[i], "");
    add(list, 0, 3, 2, columns[0], "");
    add(list, 1, 1, 3, columns[2], "");
    tsri_case *c = add(list, 2, 3, 3, columns[2], " sliced");
    c->in[0].view = c->in[2].view = TSRI_CASE_SLICED;
}
