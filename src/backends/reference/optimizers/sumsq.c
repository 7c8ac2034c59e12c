/* backends/reference/optimizers/sumsq.c - the op sumsq: sums of squares, for the norm of a
 * gradient. */
#include "backends/reference/reference.h"

tsr_status tsri_reference_sumsq(const tsri_reference_call *call) {
    tsr_sumsq_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view sums = tsri_reference_in(call, 0), x = tsri_reference_in(call, 1);
    const int64_t n = tsri_reference_count(&x), run = (n + attrs.parts - 1) / attrs.parts;
    for (int64_t j = 0; j < attrs.parts; j++) {
        const int64_t first = j * run, end = first + run < n ? first + run : n;
        double sum = 0;
        for (int64_t i = first; i < end; i++)
            sum += tsri_reference_load(&x, i) * tsri_reference_load(&x, i);
        tsri_reference_store(&sums, attrs.first + j, sum);
    }
    return TSR_OK;
}
