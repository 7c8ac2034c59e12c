/* cases/norms/norm.c - the forms that the norms share, and their bound. */
#include "cases/norms/norm.h"

#include <math.h>

const tsri_case_norm_form tsri_case_norm_forms[] = {
    {5, 48, 0, 1, 1e-5f, true, TSRI_CASE_PACKED, "", 0},
    {3, 1, 0.5, 0.25, 1e-5f, true, TSRI_CASE_PACKED, "", 0},
    {1, 7, 0, 2, 1e-6f, false, TSRI_CASE_PACKED, "", 0},
    {2, 63, 0, 1, 1e-5f, true, TSRI_CASE_PACKED, "", 0},
    {2, 64, 0, 1, 1e-5f, false, TSRI_CASE_PACKED, "", 0},
    {2, 65, 0, 1, 1e-5f, true, TSRI_CASE_PACKED, "", 0},
    {1, 257, 0, 3, 1e-5f, true, TSRI_CASE_PACKED, "", 0},
    {2, 1030, 0, 1, 1e-5f, true, TSRI_CASE_PACKED, "", 0},
    {70, 16, 0, 1, 1e-5f, true, TSRI_CASE_PACKED, " many rows", 0},
    {67, 130, 0, 1, 1e-5f, true, TSRI_CASE_PACKED, " many wider rows", 0},
    {0, 16, 0, 1, 1e-5f, true, TSRI_CASE_PACKED, " no rows", 0},
    {3, 40, 100, 1, 1e-5f, true, TSRI_CASE_PACKED, " far from 0", 0},
    {3, 40, 0, 1e-3, 1e-6f, true, TSRI_CASE_PACKED, " small: eps counts", 0},
    {3, 40, 0, 1e8, 1e-5f, true, TSRI_CASE_PACKED, " large", 0},
    {4, 40, 0, 1, 1e-5f, true, TSRI_CASE_SLICED, " from wider rows", 0},
    {7, 40, 0, 1, 1e-5f, true, TSRI_CASE_AMONG, " heads among others", 5},
    {4, 37, 0, 1, 1e-5f, true, TSRI_CASE_AMONG, " odd heads among others", 3},
    {1, 128, 0, 1, 1e-6f, false, TSRI_CASE_AMONG, " heads of a token", 8},
    {1, 2048, 0, 1, 1e-5f, true, TSRI_CASE_PACKED, " a token", 0},
    {512, 2048, 0, 1, 1e-5f, true, TSRI_CASE_PACKED, " a prompt", 0},
};
const size_t tsri_case_norm_form_count = sizeof tsri_case_norm_forms / sizeof *tsri_case_norm_forms;

bool tsri_case_norm_is_timed(const tsri_case_norm_form *form) {
    return form >= &tsri_case_norm_forms[tsri_case_norm_form_count - 2]; /* the last two */
}

tsri_case_operand *tsri_case_norm_in(tsri_case *c, int i, const tsri_case_norm_form *form) {
    const tsr_dim C = TSRI_CASE_K(form->C);
    return form->heads
               ? tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 4, TSRI_CASE_B, TSRI_CASE_T,
                              TSRI_CASE_K(form->heads), C)
               : tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 3, TSRI_CASE_B, TSRI_CASE_T, C);
}

void tsri_case_norm_fill(tsri_case_operand *x, const tsri_case_norm_form *form) {
    x->low = form->offset - form->scale;
    x->high = form->offset + form->scale;
    x->view = form->view;
}

/* The mean of C numbers up to |offset| + scale is off by (C + 2) u of that; relative to the
 * deviation (scale / sqrt 3 of a uniform fill, more where eps counts) that is (C + 2) u kappa. The
 * sum of squares is off by (C + 4) u, its root by half; weight, division and bias add 6 u. */
void tsri_case_norm_bound(tsri_case *c, int output, const tsri_case_norm_form *form, bool layer) {
    const double kappa = layer ? sqrt(3) * (fabs(form->offset) + form->scale) / form->scale : 1;
    c->bound[output].largest = (2 * kappa * (double)(form->C + 2) + 16) * TSRI_CASE_U;
    c->bound[output].absolute = layer ? c->bound[output].largest : TSRI_CASE_TINY;
    tsri_case_reason(c,
                     "(2 kappa (C + 2) + 16) u (max|y|%s), C = %lld, kappa = max|x| / deviation "
                     "= %.3g: the mean and the sum of squares are sums of C terms",
                     layer ? " + 1" : "", (long long)form->C, kappa);
}

void tsri_case_norm_weight(tsri_case *c, int i, int64_t K, bool signs) {
    tsri_case_operand *weight = tsri_case_in(c, i, TSR_KIND_WEIGHT, TSR_F32, 1, TSRI_CASE_K(K));
    weight->absolute = true;
    if (signs) {
        weight->fill = TSRI_CASE_NUMBERS;
        weight->numbers[0] = weight->numbers[3] = 1;
        weight->numbers[1] = weight->numbers[2] = -1;
    }
}
