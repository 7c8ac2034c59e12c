/* backends/reference/optimizers/parameter.c - how adamw and sgd store what they have computed. */
#include "backends/reference/optimizers/parameter.h"

void tsri_reference_store_parameter(const tsri_reference_view *p,
                                    const tsri_reference_view *rounded, int64_t i, double value) {
    tsri_reference_store(p, i, value);
    if (rounded->data)
        tsri_reference_store(rounded, i, value);
}
