/* train/recipe/schedule.h - the learning rate of each step, and the clipping of gradients. */
#ifndef TSRI_TRAIN_RECIPE_SCHEDULE_H
#define TSRI_TRAIN_RECIPE_SCHEDULE_H

#include "train/recipe/settings.h"

/* warmup_steps, or where it is 0 warmup_ratio of all steps, rounded up. */
int64_t tsri_train_warmup(const tsri_train_settings *settings, int64_t steps);

/* The rate of step t, from 0, of `steps`; w = warmup steps, p = learning_rate, m =
 * min_learning_rate. For t < w, unless the schedule is constant: p (t + 1) / w. Then
 *
 *     constant, constant_with_warmup   p
 *     linear        m + (p - m) (1 - u),                u = (t - w) / (steps - w)
 *     cosine        m + (p - m) (1 + cos(pi u)) / 2
 *     inverse_sqrt  max(m, p sqrt(w / (t + 1)));  w is at least 1
 *
 * Past the last step, u stays at 1.
 * source  Vaswani et al. 2017, arXiv:1706.03762 (inverse_sqrt); Loshchilov, Hutter 2017,
 *         arXiv:1608.03983 (cosine) */
double tsri_train_rate(const tsri_train_settings *settings, int64_t t, int64_t steps);

/* The factor for gradients of this norm: where it exceeds max_grad_norm, max_grad_norm / (norm +
 * 1e-6); else 1. */
double tsri_train_clip(const tsri_train_settings *settings, double norm);

#endif
