/* cases/recurrent/gru_cell.c - the cases of gru_cell: one step and many, forwards and in reverse;
 * sequences of unequal lengths; elements around all tails of 16 and 32; the three dtypes of
 * weights. */
#include "cases/recurrent/gru_cell.h"

#include <math.h>

/* A gate is a sum of E terms, whose magnitudes add up to at most L = E max|w| (states are within
 * 1), and five more terms: off by (E + 3) L u + 8 u; sigmoid and tanh add 4 ulp each, the rest
 * 16 u. From step to step, an error of the state grows by 1 + L at most; for L <= 1/4, by 9/8. */
static void bound(tsri_case *c, int64_t T, int64_t E, double L) {
    const double growth = T > 1 ? (double)T * pow(1.125, (double)T) : 1;
    c->bound[0].absolute = growth * ((double)(E + 3) * L + 32) * TSRI_CASE_U;
    tsri_case_reason(c,
                     "T (9/8)^T ((E + 3) L + 32) u (T = 1: without the first two): sums of E = "
                     "%lld terms, L = %.3g in all, T = %lld steps",
                     (long long)E, L, (long long)T);
}

tsri_case *tsri_case_gru(tsri_case_list *list, uint32_t op, int64_t B, int64_t T, int64_t E,
                         tsr_dtype dtype, bool reverse, bool unequal, double L) {
    tsri_case *c = tsri_case_add(list, op, "B=%lld T=%lld E=%lld %s%s%s", (long long)B,
                                 (long long)T, (long long)E, tsri_tensor_dtype_name(dtype),
                                 reverse ? " reverse" : "", unequal ? ", unequal lengths" : "");
    tsri_case_operand *gates = tsri_case_in(c, 0, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B,
                                            TSRI_CASE_T, TSRI_CASE_K(3 * E));
    gates->low = -3, gates->high = 3;
    tsri_case_in(c, 1, TSR_KIND_INPUT, TSR_F32, 2, TSRI_CASE_B, TSRI_CASE_K(E));
    tsri_case_operand *w =
        tsri_case_in(c, 2, TSR_KIND_WEIGHT, dtype, 2, TSRI_CASE_K(3 * E), TSRI_CASE_K(E));
    w->low = -L / (double)E, w->high = L / (double)E;
    tsri_case_in(c, 3, TSR_KIND_WEIGHT, TSR_F32, 1, TSRI_CASE_K(3 * E));
    c->sizes[0] = B;
    c->sizes[1] = T;
    c->sparse = unequal;
    c->attrs.gru_cell =
        (tsr_gru_cell_attrs){.struct_size = sizeof c->attrs.gru_cell, .reverse = reverse};
    return c;
}

static tsri_case *add(tsri_case_list *list, int64_t B, int64_t T, int64_t E, tsr_dtype dtype,
                      uint32_t reverse, int n_len, const int32_t *len) {
    const double L = T > 1 ? 0.25 : sqrt((double)E);
    tsri_case *c = tsri_case_gru(list, TSR_OP_GRU_CELL, B, T, E, dtype, reverse, n_len != 0, L);
    if (n_len)
        tsri_case_ints(c, 4, TSRI_CASE_B, n_len, len);
    bound(c, T, E, L);
    return c;
}

void tsri_cases_gru_cell(tsri_case_list *list) {
    static const int64_t sizes[] = {1, 15, 16, 17, 24, 28, 31, 32, 33, 48, 64, 96, 131};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        add(list, 1 + (int64_t)i % 3, 1, sizes[i], TSR_F32, i % 2, 0, NULL);
        add(list, 3, 5, sizes[i], TSR_F32, i % 2, 3, (const int32_t[]){5, 2, 3});
    }
    for (uint32_t reverse = 0; reverse < 2; reverse++) {
        add(list, 2, 17, 32, TSR_F32, reverse, 0, NULL);
        add(list, 9, 3, 32, TSR_F32, reverse, 9, (const int32_t[]){3, 0, 1, 2, 3, 3, 2, 100, 0});
        add(list, 5, 1, 48, TSR_F32, reverse, 5, (const int32_t[]){1, 0, 1, 1, 0});
        add(list, 4, 4, 32, TSR_F16, reverse, 0, NULL);
        add(list, 4, 1, 40, TSR_BF16, reverse, 0, NULL);
        add(list, 7, 1, 64, TSR_BF16, reverse, 0, NULL);
        add(list, 35, 1, 96, TSR_F32, reverse, 0, NULL); /* more than one work-item takes */
        add(list, 35, 3, 64, TSR_F32, reverse, 3, (const int32_t[]){3, 1, 2});
        add(list, 1, 0, 16, TSR_F32, reverse, 0, NULL);
        add(list, 0, 2, 16, TSR_F32, reverse, 0, NULL);
        add(list, 3, 3, 24, TSR_F32, reverse, 3, (const int32_t[]){3, 1, 2})->in[1].present = false;
        add(list, 5, 3, 48, TSR_F32, reverse, 5, (const int32_t[]){3, 1, 2, 0, 3})->in[1].present =
            false;
        add(list, 2, 1, 32, TSR_F32, reverse, 0, NULL)->in[1].present = false;
        tsri_case *c = add(list, 3, 4, 32, TSR_F32, reverse, 3, (const int32_t[]){4, 1, 3});
        c->in[0].view = TSRI_CASE_SLICED;
        c->in[1].view = TSRI_CASE_SLICED;
        c = add(list, 3, 4, 16, TSR_F32, reverse, 0, NULL);
        c->in[0].view = TSRI_CASE_SWAPPED;
    }
    add(list, 8, 1, 512, TSR_F32, 0, 0, NULL)->timed = true;
    add(list, 8, 32, 512, TSR_F32, 0, 0, NULL)->timed = true;
}
