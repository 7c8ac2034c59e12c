/* backends/reference/losses/loss.c - what the losses and their gradients have in common. */
#include "backends/reference/losses/loss.h"

#include <math.h>

static double score(const tsri_reference_scores *s, int64_t v) {
    return tsri_reference_load(s->view, s->at + v * s->step) / s->temperature;
}

double tsri_reference_log_p(const tsri_reference_scores *s, int64_t v) {
    return score(s, v) - s->top - s->log_sum;
}

tsri_reference_scores tsri_reference_read_scores(const tsri_reference_view *view, int64_t r,
                                                 double temperature) {
    tsri_reference_scores s = {.view = view,
                               .at = tsri_reference_row_at(view, r),
                               .step = tsri_reference_step(view),
                               .n = tsri_reference_columns(view),
                               .temperature = temperature,
                               .top = -INFINITY};
    double sum = 0;
    for (int64_t v = 0; v < s.n; v++)
        s.top = fmax(s.top, score(&s, v));
    for (int64_t v = 0; v < s.n; v++)
        sum += exp(score(&s, v) - s.top);
    s.log_sum = log(sum);
    return s;
}

int64_t tsri_reference_target(const tsri_reference_view *targets, int64_t r) {
    return tsri_reference_load_int(targets, tsri_reference_element_at(targets, r));
}

tsri_reference_divergence tsri_reference_read_divergence(const tsri_reference_call *call) {
    tsri_reference_divergence d = {.logits = tsri_reference_in(call, 0),
                                   .targets = tsri_reference_in(call, 1),
                                   .teacher = tsri_reference_in(call, 2)};
    tsri_reference_attrs(call->op, &d.attrs, sizeof d.attrs);
    d.temperature = d.attrs.temperature == 0 || !d.teacher.data ? 1 : d.attrs.temperature;
    return d;
}

bool tsri_reference_counts(const tsri_reference_divergence *d, int64_t r) {
    return !d->targets.data || tsri_reference_target(&d->targets, r) != d->attrs.ignore;
}
