/* train/recipe/schedule.c - computes the learning rate of each step, and clips gradients. */
#include "train/recipe/schedule.h"

#include <math.h>

int64_t tsri_train_warmup(const tsri_train_settings *s, int64_t steps) {
    if (s->lr_scheduler_type == TSRI_SCHEDULE_CONSTANT)
        return 0;
    return s->warmup_steps > 0 ? s->warmup_steps : (int64_t)ceil(s->warmup_ratio * (double)steps);
}

double tsri_train_rate(const tsri_train_settings *s, int64_t t, int64_t steps) {
    const double pi = 3.14159265358979323846, peak = s->learning_rate, least = s->min_learning_rate;
    const int64_t w = tsri_train_warmup(s, steps);
    if (t < w)
        return peak * (double)(t + 1) / (double)w;
    const double u = t < steps && steps > w ? (double)(t - w) / (double)(steps - w) : 1;
    switch (s->lr_scheduler_type) {
    case TSRI_SCHEDULE_LINEAR:
        return least + (peak - least) * (1 - u);
    case TSRI_SCHEDULE_COSINE:
        return least + (peak - least) * (1 + cos(pi * u)) / 2;
    case TSRI_SCHEDULE_INVERSE_SQRT:
        return fmax(least, peak * sqrt((double)(w > 1 ? w : 1) / (double)(t + 1)));
    default:
        return peak;
    }
}

double tsri_train_clip(const tsri_train_settings *s, double norm) {
    return s->max_grad_norm > 0 && norm > s->max_grad_norm ? s->max_grad_norm / (norm + 1e-6) : 1;
}
