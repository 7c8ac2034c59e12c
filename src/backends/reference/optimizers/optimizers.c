/* backends/reference/optimizers/optimizers.c - the ops of a training step over its states:
 * accumulate, sumsq, adamw, sgd.
 *
 * source  Loshchilov, Hutter 2019, arXiv:1711.05101 (adamw); Nesterov's momentum as in Sutskever
 *         et al. 2013 */
#include "backends/reference/reference.h"

#include <math.h>

tsr_status tsri_reference_accumulate(const tsri_reference_call *call) {
    const tsri_reference_view state = tsri_reference_in(call, 0), x = tsri_reference_in(call, 1),
                              number = tsri_reference_in(call, 2);
    const double beta = number.data ? tsri_reference_load(&number, 0) : 1;
    for (int64_t i = 0, n = tsri_reference_count(&state); i < n; i++) {
        const int64_t at = tsri_reference_element_at(&state, i);
        const double old = beta != 0 ? beta * tsri_reference_load(&state, at) : 0;
        tsri_reference_store(&state, at,
                             old + tsri_reference_load(&x, tsri_reference_element_at(&x, i)));
    }
    return TSR_OK;
}

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

/* Stores `value` into element i of p and into its rounded copy, where there is one. */
static void store_parameter(const tsri_reference_view *p, const tsri_reference_view *rounded,
                            int64_t i, double value) {
    tsri_reference_store(p, i, value);
    if (rounded->data)
        tsri_reference_store(rounded, i, value);
}

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
        store_parameter(&p, &rounded, i,
                        decayed -
                            rate * (first / of_m) / (sqrt(second / of_v) + (double)attrs.eps));
    }
    return TSR_OK;
}

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
        store_parameter(&p, &rounded, i, old - rate * step);
    }
    return TSR_OK;
}
