/* backends/reference/losses/kl_divergence_grad.c - the gradient of kl_divergence. */
#include "backends/reference/losses/loss.h"

#include <math.h>

tsr_status tsri_reference_kl_divergence_grad(const tsri_reference_call *call) {
    const tsri_reference_divergence d = tsri_reference_read_divergence(call);
    const tsri_reference_view number = tsri_reference_in(call, 3),
                              addend = tsri_reference_in(call, 4),
                              dlogits = tsri_reference_out(call, 0);
    const double scale = tsri_reference_load(&number, 0);
    const int64_t V = tsri_reference_columns(&d.logits);
    for (int64_t r = 0, R = tsri_reference_rows(&d.logits); r < R; r++) {
        const bool counted = tsri_reference_counts(&d, r);
        const tsri_reference_scores student =
                                        tsri_reference_read_scores(&d.logits, r, d.temperature),
                                    teacher = d.teacher.data ? tsri_reference_read_scores(
                                                                   &d.teacher, r, d.temperature)
                                                             : (tsri_reference_scores){0};
        for (int64_t v = 0; v < V; v++) { /* T^2, times 1 / T from the scores' derivative */
            const int64_t i = r * V + v;
            const double p = d.teacher.data ? exp(tsri_reference_log_p(&teacher, v))
                                            : 1 / (double)V,
                         more = addend.data ? tsri_reference_load(
                                                  &addend, tsri_reference_element_at(&addend, i))
                                            : 0,
                         slope =
                             scale * d.temperature * (exp(tsri_reference_log_p(&student, v)) - p);
            tsri_reference_store(&dlogits, tsri_reference_element_at(&dlogits, i),
                                 more + (counted ? slope : 0));
        }
    }
    return TSR_OK;
}
