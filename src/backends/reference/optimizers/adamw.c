/* backends/reference/optimizers/adamw.c - the op adamw: one step.
 *
 * source  Loshchilov, Hutter 2019, arXiv:1711.05101 */
#include "backends/reference/optimizers/parameter.h"

#include <math.h>

tsr_status tsri_reference_adamw(const tsri_reference_call *call) {
    tsr_adamw_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view p = tsri_reference_in(call, 0), m = tsri_reference_in(call, 1),
                              v = tsri_reference_in(call, 2), gradient = tsri_reference_in(call, 3),
                              rates = tsri_reference_in(call, 4),
                              rounded = tsri_reference_in(call, 5);
    const double rate = tsri_reference_load(&rates, 0), of_m = tsri_reference_load(&rates, 1),
                 of_v = tsri_reference_load(&rates, 2), factor = tsri_reference_load(&rates, 3);
    const double beta1 = attrs.beta1, beta2 = attrs.beta2;
    for (int64_t i = 0, n = tsri_reference_count(&p); i < n; i++) { /* all operands are packed */
        const double g = factor * tsri_reference_load(&gradient, i),
                     decayed = tsri_reference_load(&p, i) * (1 - rate * (double)attrs.decay),
                     first = beta1 * tsri_reference_load(&m, i) + (1 - beta1) * g,
                     second = beta2 * tsri_reference_load(&v, i) + (1 - beta2) * g * g;
        tsri_reference_store(&m, i, first);
        tsri_reference_store(&v, i, second);
        tsri_reference_store_parameter(&p, &rounded, i,
                                       decayed - rate * (first / of_m) /
                                                     (sqrt(second / of_v) + (double)attrs.eps));
    }
    return TSR_OK;
}
