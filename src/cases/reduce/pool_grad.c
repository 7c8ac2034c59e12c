/* cases/reduce/pool_grad.c - the cases of pool_grad. */
#include "cases/cases.h"

static tsri_case *add(tsri_case_list *list, int64_t B, int64_t T, int64_t C, uint32_t kind,
                      int n_len, const int32_t *len) {
    static const char *const kinds[] = {"mean", "first", "max", "last"};
    tsri_case *c =
        tsri_case_add(list, TSR_OP_POOL_GRAD, "B=%lld T=%lld C=%lld %s%s", (long long)B,
                      (long long)T, (long long)C, kinds[kind], n_len ? ", unequal lengths" : "");
    tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(C));
    if (n_len)
        tsri_case_ints(c, 1, TSRI_CASE_B, n_len, len);
    tsri_case_in(c, 2, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_B, TSRI_CASE_K(C));
    c->sizes[0] = B;
    c->sizes[1] = T;
    c->attrs.pool_grad = (tsr_pool_attrs){.struct_size = sizeof c->attrs.pool_grad, .kind = kind};
    c->sparse = kind != TSR_POOL_MEAN || n_len;
    if (kind == TSR_POOL_MEAN) {
        c->bound[0].relative = 2 * TSRI_CASE_U;
        c->bound[0].absolute = TSRI_CASE_TINY;
        tsri_case_reason(c, "2 u: one division");
    } else
        tsri_case_reason(c, "exact: elements are chosen");
    return c;
}

void tsri_cases_pool_grad(tsri_case_list *list) {
    static const int64_t shapes[][3] = {{2, 5, 17},  {1, 1, 1},   {3, 7, 16}, {1, 64, 15},
                                        {2, 65, 48}, {2, 1, 130}, {0, 3, 16}};
    for (uint32_t kind = TSR_POOL_MEAN; kind <= TSR_POOL_LAST; kind++) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            add(list, shapes[i][0], shapes[i][1], shapes[i][2], kind, 0, NULL);
        for (int64_t C = 31; C <= 33; C++)
            add(list, 4, 9, C, kind, 4, (const int32_t[]){9, 1, 0, 5});
        tsri_case *c = add(list, 3, 6, 32, kind, 3, (const int32_t[]){2, 6, 100});
        c->in[0].view = c->in[2].view = TSRI_CASE_SLICED;
    }
    tsri_case *c = add(list, 2, 12, 33, TSR_POOL_MAX, 0, NULL); /* ties: dy to the first */
    c->in[0].fill = TSRI_CASE_INTEGER;
    c->in[0].low = 0, c->in[0].high = 2;
    c = add(list, 2, 6, 48, TSR_POOL_MAX, 0, NULL);
    c->in[0].fill = TSRI_CASE_SOME_NAN;
    c->in[0].low = 0.5;
}
