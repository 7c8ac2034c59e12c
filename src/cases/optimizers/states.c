/* cases/optimizers/states.c - what the cases of the ops on states have in common. */
#include "cases/optimizers/states.h"

const int64_t tsri_case_lengths[TSRI_CASE_LENGTHS] = {119, 1,    2,    15,   16,
                                                      17,  1023, 1025, 4099, 2048 * 2048};

tsri_case_operand *tsri_case_state(tsri_case *c, int i, int64_t n) {
    c->reads_state = true;
    return tsri_case_in(c, i, TSR_KIND_STATE, TSR_F32, 1, TSRI_CASE_K(n));
}

const tsri_case_rates tsri_case_rate_settings[3] = {
    {0.01f, 0.1f, 0.05f, 1, " first step"}, {3e-4f, 1, 0.63f, 0.25f, ""}, {0, 1, 1, 1, " rate 0"}};

void tsri_case_give_rates(tsri_case *c, int i, const tsri_case_rates *r) {
    tsri_case_operand *operand = tsri_case_in(c, i, TSR_KIND_INPUT, TSR_F32, 1, TSRI_CASE_K(4));
    const float values[] = {r->rate, r->of_m, r->of_v, r->factor};
    operand->fill = TSRI_CASE_NUMBERS;
    for (int k = 0; k < 4; k++)
        operand->numbers[k] = values[k];
}

void tsri_case_rounded(tsri_case *c, int i, int64_t n, int output) {
    tsri_case_in(c, i, TSR_KIND_STATE, TSR_BF16, 1, TSRI_CASE_K(n));
    c->bound[output].relative = 0x1p-7; /* it may round to the other neighbour */
    c->bound[output].absolute = c->bound[0].absolute;
}
