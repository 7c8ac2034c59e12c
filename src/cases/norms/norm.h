/* cases/norms/norm.h - what layer_norm, rms_norm and add_norm have in common. */
#ifndef TSRI_CASES_NORM_H
#define TSRI_CASES_NORM_H

#include "cases/cases.h"

typedef struct tsri_case_norm_form {
    int64_t T, C;
    double offset, scale; /* x is offset + scale * [-1, 1) */
    float eps;
    bool bias;
    tsri_case_view view;
    const char *what;
    int64_t heads; /* above 0: x is [B,T,heads,C], else [B,T,C] */
} tsri_case_norm_form;

extern const tsri_case_norm_form tsri_case_norm_forms[];
extern const size_t tsri_case_norm_form_count;
bool tsri_case_norm_is_timed(const tsri_case_norm_form *form);

/* Sets the bound of output `output`, the normed value, for rows with elements as the form says. */
void tsri_case_norm_bound(tsri_case *c, int output, const tsri_case_norm_form *form, bool layer);
void tsri_case_norm_fill(tsri_case_operand *x, const tsri_case_norm_form *form);
/* Describes operand i as an input of the form's shape. */
tsri_case_operand *tsri_case_norm_in(tsri_case *c, int i, const tsri_case_norm_form *form);

/* Describes operand i as the weight of a norm of K numbers. `signs`: +1 and -1, which leave what is
 * quantised after the norm as it was: x at its steps. */
void tsri_case_norm_weight(tsri_case *c, int i, int64_t K, bool signs);

#endif
