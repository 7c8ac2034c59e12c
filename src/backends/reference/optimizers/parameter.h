/* backends/reference/optimizers/parameter.h - how adamw and sgd store what they have computed. */
#ifndef TSRI_REFERENCE_PARAMETER_H
#define TSRI_REFERENCE_PARAMETER_H

#include "backends/reference/reference.h"

/* Stores `value` into element i of p and into its rounded copy, where there is one. */
void tsri_reference_store_parameter(const tsri_reference_view *p,
                                    const tsri_reference_view *rounded, int64_t i, double value);

#endif
