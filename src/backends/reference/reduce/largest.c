/* backends/reference/reduce/largest.c - the order in which argmax, topk and choose_experts take elements. */
#include "backends/reference/reduce/largest.h"

#include <math.h>

bool tsri_reference_comes_before(double a, int64_t i, double b, int64_t j) {
    if (isnan(a) || isnan(b))
        return isnan(a) == isnan(b) ? i < j : isnan(b);
    return a != b ? a > b : i < j;
}

int64_t tsri_reference_next_largest(const tsri_reference_view *x, int64_t at, double value,
                                    int64_t index) {
    const int64_t V = tsri_reference_columns(x), step = tsri_reference_step(x);
    int64_t best = -1;
    double best_value = 0;
    for (int64_t v = 0; v < V; v++) {
        const double here = tsri_reference_load(x, at + v * step);
        if (index >= 0 && !tsri_reference_comes_before(value, index, here, v))
            continue;
        if (best < 0 || tsri_reference_comes_before(here, v, best_value, best)) {
            best = v;
            best_value = here;
        }
    }
    return best;
}
