/* cases/reduce/topk_grad.c - the cases of topk_grad. */
#include "cases/cases.h"

void tsri_cases_topk_grad(tsri_case_list *list) {
    static const int64_t shapes[][3] = {/* R V k */ {5, 4, 2}, {1, 1, 1},   {3, 8, 8},
                                        {33, 60, 4},           {7, 129, 8}, {0, 5, 2}};
    static const int32_t places[] = {3, 0, 2, 1, 7, 5, 4, 6};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t R = shapes[i][0], V = shapes[i][1], k = shapes[i][2];
        tsri_case *c = tsri_case_add(list, TSR_OP_TOPK_GRAD, "R=%lld V=%lld k=%lld", (long long)R,
                                     (long long)V, (long long)k);
        tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_T, TSRI_CASE_K(V));
        tsri_case_operand *indices =
            tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_I32, 2, TSRI_CASE_T, TSRI_CASE_K(k));
        indices->fill = TSRI_CASE_LIST; /* all k of a row differ */
        indices->n_list = (int)k;
        for (int64_t j = 0; j < k; j++)
            indices->list[j] = V == 1   ? 0
                               : V == 4 ? places[j]
                               : V == 8 ? places[j]
                                        : (int32_t)(V - 1 - 7 * j);
        tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_T, TSRI_CASE_K(k));
        c->sizes[1] = R;
        c->sparse = 2 * k < V + 1;
        tsri_case_reason(c, "exact: numbers are copied");
    }
}
