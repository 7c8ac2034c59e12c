/* backends/reference/losses/cross_entropy_grad.c - the gradient of cross_entropy. */
#include "backends/reference/losses/loss.h"

#include "base/error.h"

#include <math.h>

tsr_status tsri_reference_cross_entropy_grad(const tsri_reference_call *call) {
    tsr_cross_entropy_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view logits = tsri_reference_in(call, 0),
                              targets = tsri_reference_in(call, 1),
                              lse = tsri_reference_in(call, 2), number = tsri_reference_in(call, 3),
                              addend = tsri_reference_in(call, 4),
                              dlogits = tsri_reference_out(call, 0);
    const int64_t V = tsri_reference_columns(&logits);
    const double e = attrs.label_smoothing, scale = tsri_reference_load(&number, 0);
    for (int64_t r = 0, R = tsri_reference_rows(&logits); r < R; r++) {
        const int64_t target = tsri_reference_target(&targets, r);
        if (target != attrs.ignore)
            TRY(tsri_reference_check_index(call->op, "target", target, V));
        const double log_sum = tsri_reference_load(&lse, tsri_reference_element_at(&lse, r));
        for (int64_t v = 0; v < V; v++) {
            const int64_t i = r * V + v;
            const double x = tsri_reference_load(&logits, tsri_reference_element_at(&logits, i)),
                         wanted = (v == target ? 1 - e : 0) + e / (double)V,
                         more = addend.data ? tsri_reference_load(
                                                  &addend, tsri_reference_element_at(&addend, i))
                                            : 0;
            tsri_reference_store(
                &dlogits, tsri_reference_element_at(&dlogits, i),
                more + (target == attrs.ignore ? 0 : scale * (exp(x - log_sum) - wanted)));
        }
    }
    return TSR_OK;
}
