/* cases/elements/binary.c - the cases that add and mul share: broadcasts, views, extremes and
 * signed zeros. */
#include "cases/elements/binary.h"

static tsri_case *add(tsri_case_list *list, tsr_op_id op, int64_t T, int64_t C, const char *what) {
    tsri_case *c = tsri_case_add(list, op, "[2,%lld,%lld]%s", (long long)T, (long long)C, what);
    for (int i = 0; i < 2; i++)
        tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(C));
    c->sizes[0] = 2;
    c->sizes[1] = T;
    c->bound[0].relative = 2 * TSRI_CASE_U;
    c->bound[0].absolute = TSRI_CASE_TINY;
    tsri_case_reason(c, "2 u: one rounding on each side");
    return c;
}

void tsri_cases_binary(tsri_case_list *list, tsr_op_id op) {
    static const int64_t shapes[][2] = {{3, 17}, {1, 1}, {2, 63},  {1, 64},
                                        {5, 65}, {0, 8}, {4, 257}, {9, 700}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        add(list, op, shapes[i][0], shapes[i][1], "");
    tsri_case_in(add(list, op, 3, 20, ", b [C]"), 1, TSR_KIND_WEIGHT, TSR_F32, 1, TSRI_CASE_K(20));
    tsri_case_in(add(list, op, 3, 20, ", b [T,1]"), 1, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_T,
                 TSRI_CASE_K(1));
    tsri_case_in(add(list, op, 3, 20, ", b [B,1,C]"), 1, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B,
                 TSRI_CASE_K(1), TSRI_CASE_K(20));
    tsri_case *c = add(list, op, 3, 20, ", a from wider rows, b swapped");
    c->in[0].view = TSRI_CASE_SLICED;
    c->in[1].view = TSRI_CASE_SWAPPED;
    c = add(list, op, 3, 24, ", extremes");
    c->in[0].fill = TSRI_CASE_EXTREME;
    c->in[0].low = -1e30, c->in[0].high = 1e30;
    c = add(list, op, 3, 6, ", signed zeros");
    c->in[0].fill = TSRI_CASE_ZEROS;
    c->sparse = true;
    add(list, op, 256, 2048, "")->timed = true;
}
