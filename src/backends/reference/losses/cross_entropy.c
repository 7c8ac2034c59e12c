/* backends/reference/losses/cross_entropy.c - the op cross_entropy.
 *
 * source  Szegedy et al. 2015, arXiv:1512.00567 (label smoothing) */
#include "backends/reference/losses/loss.h"

#include "base/error.h"

tsr_status tsri_reference_cross_entropy(const tsri_reference_call *call) {
    tsr_cross_entropy_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view logits = tsri_reference_in(call, 0),
                              targets = tsri_reference_in(call, 1),
                              loss = tsri_reference_out(call, 0), lse = tsri_reference_out(call, 1);
    const double e = attrs.label_smoothing;
    for (int64_t r = 0, R = tsri_reference_rows(&logits); r < R; r++) {
        const int64_t target = tsri_reference_target(&targets, r);
        double sum = 0, result = 0, log_sum = 0;
        if (target != attrs.ignore) {
            const tsri_reference_scores s = tsri_reference_read_scores(&logits, r, 1);
            TRY(tsri_reference_check_index(call->op, "target", target, s.n));
            for (int64_t v = 0; v < s.n && e > 0; v++)
                sum -= tsri_reference_log_p(&s, v);
            result = (1 - e) * -tsri_reference_log_p(&s, target) + e * sum / (double)s.n;
            log_sum = s.top + s.log_sum;
        }
        tsri_reference_store(&loss, tsri_reference_element_at(&loss, r), result);
        tsri_reference_store(&lse, tsri_reference_element_at(&lse, r), log_sum);
    }
    return TSR_OK;
}
