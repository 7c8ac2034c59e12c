/* cases/elements/slopes.h - the bounds of activation_grad, glu and glu_grad, which depend on the
 * activation and its derivative, and the forms of the gated ones. */
#ifndef TSRI_CASES_SLOPES_H
#define TSRI_CASES_SLOPES_H

#include "cases/cases.h"

/* The errors of an activation (value) and of its derivative (slope), relative, of x, and absolute,
 * in units of u. exp is within 4 ulp of an argument with up to 3 roundings (gelu_tanh's;
 * exp(-|u|) |u|^2 is at most 0.6), erf within 16; after them come sums of two parts below 1.2. */
typedef struct tsri_case_within {
    const char *name;
    double value, value_of_x, slope, slope_absolute;
} tsri_case_within;

extern const tsri_case_within tsri_case_activations[TSR_ACT_SIGMOID + 1];

enum { TSRI_CASE_GATED = 7 }; /* the last is timed */
/* Adds a case of glu or glu_grad with its sizes and x. */
tsri_case *tsri_case_gated(tsri_case_list *list, tsr_op_id op, uint32_t act, int form);

/* The same with a limit, an alpha and a shift, and what they add to a bound: alpha g is rounded, and the
 * result, below 4 * 4 times its slope of at most 1.13, moves with it; the division is within 5 u, the
 * shift 1. */
enum { TSRI_CASE_FORMS = 5 };
tsri_case *tsri_case_gated_form(tsri_case_list *list, tsr_op_id op, int form);
void tsri_case_bound_form(tsri_case *c);

#endif
