/* backends/reference/reduce/largest.h - the order in which argmax and topk take elements. */
#ifndef TSRI_REFERENCE_LARGEST_H
#define TSRI_REFERENCE_LARGEST_H

#include "backends/reference/reference.h"

/* The order is total: larger values first, equal ones by index; NaN counts as smallest. Returns the
 * first element of the row at `at` among those behind (value, index); for index -1, among all. */
int64_t tsri_reference_next_largest(const tsri_reference_view *x, int64_t at, double value,
                                    int64_t index);

#endif
