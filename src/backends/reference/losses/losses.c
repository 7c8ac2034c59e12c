/* backends/reference/losses/losses.c - cross_entropy and kl_divergence, with their gradients.
 *
 * source  Szegedy et al. 2015, arXiv:1512.00567 (label smoothing); Hinton et al. 2015,
 *         arXiv:1503.02531 (distillation) */
#include "backends/reference/reference.h"

#include "base/error.h"

#include <math.h>

/* A row of scores divided by the temperature, with its largest score and the log of the sum of
 * exp(score - largest). */
typedef struct scores {
    const tsri_reference_view *view;
    int64_t at, step, n;
    double temperature, top, log_sum;
} scores;

static double score(const scores *s, int64_t v) {
    return tsri_reference_load(s->view, s->at + v * s->step) / s->temperature;
}

static double log_p(const scores *s, int64_t v) {
    return score(s, v) - s->top - s->log_sum;
}

static scores read_row(const tsri_reference_view *view, int64_t r, double temperature) {
    scores s = {.view = view,
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

static int64_t target_of(const tsri_reference_view *targets, int64_t r) {
    return tsri_reference_load_int(targets, tsri_reference_element_at(targets, r));
}

tsr_status tsri_reference_cross_entropy(const tsri_reference_call *call) {
    tsr_cross_entropy_attrs attrs;
    tsri_reference_attrs(call->op, &attrs, sizeof attrs);
    const tsri_reference_view logits = tsri_reference_in(call, 0),
                              targets = tsri_reference_in(call, 1),
                              loss = tsri_reference_out(call, 0), lse = tsri_reference_out(call, 1);
    const double e = attrs.label_smoothing;
    for (int64_t r = 0, R = tsri_reference_rows(&logits); r < R; r++) {
        const int64_t target = target_of(&targets, r);
        double sum = 0, result = 0, log_sum = 0;
        if (target != attrs.ignore) {
            const scores s = read_row(&logits, r, 1);
            TRY(tsri_reference_check_index(call->op, "target", target, s.n));
            for (int64_t v = 0; v < s.n && e > 0; v++)
                sum -= log_p(&s, v);
            result = (1 - e) * -log_p(&s, target) + e * sum / (double)s.n;
            log_sum = s.top + s.log_sum;
        }
        tsri_reference_store(&loss, tsri_reference_element_at(&loss, r), result);
        tsri_reference_store(&lse, tsri_reference_element_at(&lse, r), log_sum);
    }
    return TSR_OK;
}

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
        const int64_t target = target_of(&targets, r);
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

/* ---- kl_divergence ---- */

typedef struct divergence {
    tsr_kl_divergence_attrs attrs;
    tsri_reference_view logits, targets, teacher;
    double temperature;
} divergence;

static divergence read_divergence(const tsri_reference_call *call) {
    divergence d = {.logits = tsri_reference_in(call, 0),
                    .targets = tsri_reference_in(call, 1),
                    .teacher = tsri_reference_in(call, 2)};
    tsri_reference_attrs(call->op, &d.attrs, sizeof d.attrs);
    d.temperature = d.attrs.temperature == 0 || !d.teacher.data ? 1 : d.attrs.temperature;
    return d;
}

static bool counts(const divergence *d, int64_t r) {
    return !d->targets.data || target_of(&d->targets, r) != d->attrs.ignore;
}

tsr_status tsri_reference_kl_divergence(const tsri_reference_call *call) {
    const divergence d = read_divergence(call);
    const tsri_reference_view loss = tsri_reference_out(call, 0);
    for (int64_t r = 0, R = tsri_reference_rows(&d.logits); r < R; r++) {
        double sum = 0;
        if (counts(&d, r)) {
            const scores student = read_row(&d.logits, r, d.temperature),
                         teacher =
                             d.teacher.data ? read_row(&d.teacher, r, d.temperature) : (scores){0};
            const double uniform = -log((double)student.n);
            for (int64_t v = 0; v < student.n; v++) {
                const double log_t = d.teacher.data ? log_p(&teacher, v) : uniform;
                if (log_t > -INFINITY)
                    sum += exp(log_t) * (log_t - log_p(&student, v));
            }
        }
        tsri_reference_store(&loss, tsri_reference_element_at(&loss, r),
                             d.temperature * d.temperature * sum);
    }
    return TSR_OK;
}

tsr_status tsri_reference_kl_divergence_grad(const tsri_reference_call *call) {
    const divergence d = read_divergence(call);
    const tsri_reference_view number = tsri_reference_in(call, 3),
                              addend = tsri_reference_in(call, 4),
                              dlogits = tsri_reference_out(call, 0);
    const double scale = tsri_reference_load(&number, 0);
    const int64_t V = tsri_reference_columns(&d.logits);
    for (int64_t r = 0, R = tsri_reference_rows(&d.logits); r < R; r++) {
        const bool counted = counts(&d, r);
        const scores student = read_row(&d.logits, r, d.temperature),
                     teacher =
                         d.teacher.data ? read_row(&d.teacher, r, d.temperature) : (scores){0};
        for (int64_t v = 0; v < V; v++) { /* T^2, times 1 / T from the scores' derivative */
            const int64_t i = r * V + v;
            const double p = d.teacher.data ? exp(log_p(&teacher, v)) : 1 / (double)V,
                         more = addend.data ? tsri_reference_load(
                                                  &addend, tsri_reference_element_at(&addend, i))
                                            : 0,
                         slope = scale * d.temperature * (exp(log_p(&student, v)) - p);
            tsri_reference_store(&dlogits, tsri_reference_element_at(&dlogits, i),
                                 more + (counted ? slope : 0));
        }
    }
    return TSR_OK;
}
