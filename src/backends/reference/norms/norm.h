/* backends/reference/norms/norm.h - what layer_norm, rms_norm and add_norm have in common. */
#ifndef TSRI_REFERENCE_NORM_H
#define TSRI_REFERENCE_NORM_H

#include "backends/reference/reference.h"

/* Element c of the row at `at`. */
double tsri_reference_norm_element(const tsri_reference_view *x, int64_t at, int64_t c);
/* y = the row of x, normed. `bias` may be missing. */
void tsri_reference_normalise(const tsri_reference_view *x, int64_t x_at, uint32_t norm, double eps,
                              const tsri_reference_view *weight, const tsri_reference_view *bias,
                              const tsri_reference_view *y, int64_t y_at);
/* Norms each row of operand x into y. */
tsr_status tsri_reference_norm_rows(const tsri_reference_call *call, tsr_norm norm);

#endif
