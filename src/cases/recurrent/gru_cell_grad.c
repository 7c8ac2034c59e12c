/* cases/recurrent/gru_cell_grad.c - the cases of gru_cell_grad: one step and many, forwards and in
 * reverse; sequences of unequal lengths; with a first state, trained or not, and without; elements
 * around all tails of 16 and 32; the three dtypes of weights. */
#include "cases/recurrent/gru_cell.h"

#include <math.h>

/* As in gru_cell, gates are off by (E + 3) L u + 32 u with L = E max|w| <= 1/4; states and dy are
 * within 1. What a step carries grows by 1 + L <= 5/4 and by dy, so it stays below T (5/4)^T. The
 * gradient of a gate is its product with factors within 1 (1 + L for the inner sum), each of which
 * is off by as much as a gate; w^T dgates adds 3 E terms of 3 L in all. For one step L = sqrt(E).
 */
static void bound(tsri_case *c, int64_t T, int64_t E, double L) {
    const double growth = T > 1 ? (double)T * pow(1.25, (double)T) : 1,
                 gate = 4 * ((double)(E + 3) * L + 32) * (1 + L), carried = (double)(3 * E + 8) * L;
    c->bound[0].absolute = c->bound[1].absolute =
        growth * (gate + (double)T * carried) * TSRI_CASE_U * (double)T;
    c->bound[3].absolute = growth * (1 + 3 * L) * (gate + carried) * (double)T * TSRI_CASE_U;
    tsri_case_reason(c,
                     "T^2 (5/4)^T (4 (1 + L) ((E + 3) L + 32) + T (3 E + 8) L) u (T = 1: without "
                     "the first two), L = %.3g; states before are given as they are",
                     L);
}

static tsri_case *add(tsri_case_list *list, int64_t B, int64_t T, int64_t E, tsr_dtype dtype,
                      uint32_t reverse, int n_len, const int32_t *len) {
    const double L = T > 1 ? 0.25 : sqrt((double)E);
    tsri_case *c =
        tsri_case_gru(list, TSR_OP_GRU_CELL_GRAD, B, T, E, dtype, reverse, n_len != 0, L);
    for (int i = 4; i < 6; i++)
        tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, TSRI_CASE_K(E));
    if (n_len)
        tsri_case_ints(c, 6, TSRI_CASE_B, n_len, len);
    c->want = 8;
    bound(c, T, E, L);
    return c;
}

void tsri_cases_gru_cell_grad(tsri_case_list *list) {
    static const int64_t sizes[] = {1, 15, 16, 17, 31, 32, 33, 48, 64, 131};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        add(list, 1 + (int64_t)i % 3, 1, sizes[i], TSR_F32, i % 2, 0, NULL);
        add(list, 3, 5, sizes[i], TSR_F32, i % 2, 3, (const int32_t[]){5, 2, 3});
    }
    for (uint32_t reverse = 0; reverse < 2; reverse++) {
        add(list, 2, 9, 32, TSR_F32, reverse, 0, NULL);
        add(list, 9, 3, 32, TSR_F32, reverse, 9, (const int32_t[]){3, 0, 1, 2, 3, 3, 2, 100, 0});
        add(list, 35, 3, 64, TSR_F32, reverse, 3, (const int32_t[]){3, 1, 2});
        add(list, 4, 4, 32, TSR_F16, reverse, 0, NULL);
        add(list, 4, 2, 40, TSR_BF16, reverse, 0, NULL)->want = 0;
        add(list, 1, 0, 16, TSR_F32, reverse, 0, NULL)->sparse = true;
        add(list, 0, 2, 16, TSR_F32, reverse, 0, NULL);
        tsri_case *c = add(list, 5, 3, 48, TSR_F32, reverse, 5, (const int32_t[]){3, 1, 2, 0, 3});
        c->in[1].present = false;
        c->want = 0;
        c = add(list, 3, 4, 32, TSR_F32, reverse, 3, (const int32_t[]){4, 1, 3});
        for (int i = 0; i < 6; i++)
            c->in[i].view = i == 2 || i == 3 ? TSRI_CASE_PACKED : TSRI_CASE_SLICED;
        c = add(list, 3, 4, 16, TSR_F32, reverse, 0, NULL);
        c->in[0].view = c->in[4].view = c->in[5].view = TSRI_CASE_SWAPPED;
    }
    add(list, 8, 32, 512, TSR_F32, 0, 0, NULL)->timed = true;
}
