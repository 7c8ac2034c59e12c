/* backends/reference/losses/kl_divergence.c - the op kl_divergence.
 *
 * source  Hinton et al. 2015, arXiv:1503.02531 (distillation) */
#include "backends/reference/losses/loss.h"

#include <math.h>

tsr_status tsri_reference_kl_divergence(const tsri_reference_call *call) {
    const tsri_reference_divergence d = tsri_reference_read_divergence(call);
    const tsri_reference_view loss = tsri_reference_out(call, 0);
    for (int64_t r = 0, R = tsri_reference_rows(&d.logits); r < R; r++) {
        double sum = 0;
        if (tsri_reference_counts(&d, r)) {
            const tsri_reference_scores student =
                                            tsri_reference_read_scores(&d.logits, r, d.temperature),
                                        teacher = d.teacher.data ? tsri_reference_read_scores(
                                                                       &d.teacher, r, d.temperature)
                                                                 : (tsri_reference_scores){0};
            const double uniform = -log((double)student.n);
            for (int64_t v = 0; v < student.n; v++) {
                const double log_t = d.teacher.data ? tsri_reference_log_p(&teacher, v) : uniform;
                if (log_t > -INFINITY)
                    sum += exp(log_t) * (log_t - tsri_reference_log_p(&student, v));
            }
        }
        tsri_reference_store(&loss, tsri_reference_element_at(&loss, r),
                             d.temperature * d.temperature * sum);
    }
    return TSR_OK;
}
