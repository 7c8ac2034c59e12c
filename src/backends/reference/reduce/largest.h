/* backends/reference/reduce/largest.h - the order in which argmax, topk and choose_experts take elements. */
#ifndef TSRI_REFERENCE_LARGEST_H
#define TSRI_REFERENCE_LARGEST_H

#include "backends/reference/reference.h"

/* Whether a at place i comes before b at place j, in a total order: larger values first, equal ones by place;
 * NaN counts as smallest. */
bool tsri_reference_comes_before(double a, int64_t i, double b, int64_t j);

/* Returns the first element of the row at `at` among those behind (value, index); for index -1, among all. */
int64_t tsri_reference_next_largest(const tsri_reference_view *x, int64_t at, double value,
                                    int64_t index);

#endif
