/* backends/reference/optimizers/sgd.c - the op sgd: one step.
 *
 * source  Nesterov's momentum as in Sutskever et al. 2013 */
#include "backends/reference/optimizers/parameter.h"

tsr_status tsri_reference_sgd(const tsri_reference_call *call) {
    tsr_sgd_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view p = tsri_reference_in(call, 0), velocity = tsri_reference_in(call, 1),
                              gradient = tsri_reference_in(call, 2),
                              rates = tsri_reference_in(call, 3),
                              rounded = tsri_reference_in(call, 4);
    const double rate = tsri_reference_load(&rates, 0), factor = tsri_reference_load(&rates, 3),
                 momentum = attrs.momentum;
    for (int64_t i = 0, n = tsri_reference_count(&p); i < n; i++) { /* all operands are packed */
        const double old = tsri_reference_load(&p, i),
                     g = factor * tsri_reference_load(&gradient, i) + (double)attrs.decay * old;
        double step = g;
        if (velocity.data) {
            const double moved = momentum * tsri_reference_load(&velocity, i) + g;
            tsri_reference_store(&velocity, i, moved);
            step = attrs.nesterov ? g + momentum * moved : moved;
        }
        tsri_reference_store_parameter(&p, &rounded, i, old - rate * step);
    }
    return TSR_OK;
}
