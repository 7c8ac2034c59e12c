/* backends/reference/losses/loss.h - what the losses and their gradients have in common: rows of
 * scores as log probabilities, targets, and the operands of kl_divergence. */
#ifndef TSRI_REFERENCE_LOSS_H
#define TSRI_REFERENCE_LOSS_H

#include "backends/reference/reference.h"

/* A row of scores divided by the temperature, with its largest score and the log of the sum of
 * exp(score - largest). */
typedef struct tsri_reference_scores {
    const tsri_reference_view *view;
    int64_t at, step, n;
    double temperature, top, log_sum;
} tsri_reference_scores;

tsri_reference_scores tsri_reference_read_scores(const tsri_reference_view *view, int64_t r,
                                                 double temperature);
/* The log of the probability of class v. */
double tsri_reference_log_p(const tsri_reference_scores *s, int64_t v);
/* The class that row r has as its target. */
int64_t tsri_reference_target(const tsri_reference_view *targets, int64_t r);

/* The operands that kl_divergence and its gradient share. Without a teacher its data is NULL, and
 * the temperature is 1. */
typedef struct tsri_reference_divergence {
    tsr_kl_divergence_attrs attrs;
    tsri_reference_view logits, targets, teacher;
    double temperature;
} tsri_reference_divergence;

tsri_reference_divergence tsri_reference_read_divergence(const tsri_reference_call *call);
/* Whether row r counts: it has no target, or one that is not ignored. */
bool tsri_reference_counts(const tsri_reference_divergence *d, int64_t r);

#endif
